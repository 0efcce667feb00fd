"""Two-stage retrieval: first which documents, then which of their sections. It wraps the pipeline."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

from watersmeet.core.index import Snapshot
from watersmeet.core.model import DocId, Plan, Ranking
from watersmeet.engine.query.pipeline import Outcome, Pipeline
from watersmeet.engine.settings.settings import TwoStageSettings


@dataclass(frozen=True, slots=True)
class TwoStage:
    """The same signals, fusion and weights both times."""

    pipeline: Pipeline
    snapshot: Snapshot
    settings: TwoStageSettings

    def run(self, plan: Plan) -> Outcome:
        wide = replace(self.pipeline, stages=(), promise=False).run(
            replace(plan, pool=self.settings.pool, explain=False)
        )
        best = self.documents(wide.fused)[: self.settings.documents]
        if not best:  # nothing was found, so there is nothing to tell
            return wide
        last = self.within(best, plan)
        timings = {f"first look: {name}": took for name, took in wide.timings.items()} | last.timings
        failures = tuple(dict.fromkeys((*wide.failures, *last.failures)))
        return TwoStageOutcome(
            last.plan,
            last.rankings,
            last.fused,
            last.ranking,
            failures,
            timings,
            last.confidence_ranking,
            self,
            plan,
            wide,
        )

    def within(self, documents: tuple[DocId, ...], plan: Plan) -> Outcome:
        """The second look: only into these."""
        condition = plan.condition.narrowed("document", documents)
        return self.pipeline.run(replace(plan, condition=condition, pool=self.settings.pool), self._capped)

    def documents(self, ranking: Ranking) -> tuple[DocId, ...]:
        """The documents, those first whose chunks have most score in all."""
        owners = self.snapshot.documents_of([hit.chunk for hit in ranking.hits])
        totals: defaultdict[DocId, float] = defaultdict(float)
        for hit in ranking.hits:
            totals[owners[hit.chunk]] += hit.score
        return tuple(sorted(totals, key=lambda document: (-totals[document], document)))

    def _capped(self, ranking: Ranking) -> Ranking:
        owners = self.snapshot.documents_of([hit.chunk for hit in ranking.hits])
        taken: Counter[DocId] = Counter()
        kept = []
        for hit in ranking.hits:
            taken[owners[hit.chunk]] += 1
            if taken[owners[hit.chunk]] <= self.settings.sections:
                kept.append(hit)
        return Ranking(ranking.by, tuple(kept))


@dataclass(frozen=True, slots=True)
class TwoStageOutcome(Outcome):
    """What came of the second look, and whence: who looked, for what plan, and what the first look saw."""

    path: TwoStage
    asked: Plan
    wide: Outcome
