"""Two-stage search: first the best documents, then their best sections. It wraps the pipeline."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from watersmeet.core.index import Snapshot
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId, Plan, Ranking
from watersmeet.engine.query.pipeline import Outcome, Pipeline
from watersmeet.engine.settings.settings import TwoStageSettings


@dataclass(frozen=True, slots=True)
class TwoStage:
    """A search for the best documents, then for sections in them, with the same signals and weights."""

    pipeline: Pipeline
    snapshot: Snapshot
    settings: TwoStageSettings

    def run(self, plan: Plan) -> Outcome:
        wide = replace(self.pipeline, stages=(), normalize=False).run(
            replace(plan, pool=self.settings.pool, explain=False)
        )
        best = self.documents(wide.fused)[: self.settings.documents]
        if not best:  # no results
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
        """The second stage: a search in these documents only."""
        condition = plan.condition.narrowed("document", documents)
        return self.pipeline.run(replace(plan, condition=condition, pool=self.settings.pool), self._capped)

    def documents(self, ranking: Ranking) -> tuple[DocId, ...]:
        """Documents by the total score of their chunks, best first."""
        owners = self.snapshot.documents_of([hit.chunk for hit in ranking.hits])
        totals: defaultdict[DocId, float] = defaultdict(float)
        for hit in ranking.hits:
            totals[owners[hit.chunk]] += hit.score
        return tuple(sorted(totals, key=lambda document: (-totals[document], document)))

    def _capped(self, ranking: Ranking) -> Ranking:
        owners = self.snapshot.documents_of([hit.chunk for hit in ranking.hits])
        counts: Counter[DocId] = Counter()
        kept = []
        for hit in ranking.hits:
            counts[owners[hit.chunk]] += 1
            if counts[owners[hit.chunk]] <= self.settings.sections:
                kept.append(hit)
        return Ranking(ranking.by, tuple(kept))


@dataclass(frozen=True, slots=True)
class TwoStageOutcome(Outcome):
    """The outcome of the second stage, with the path, the original plan and the outcome of the first stage."""

    path: TwoStage
    original_plan: Plan
    wide: Outcome
