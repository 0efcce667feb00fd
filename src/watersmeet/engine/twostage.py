"""Two-stage retrieval: first which documents, then which of their sections. It wraps the pipeline."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

from watersmeet.core.model import DocId, Plan, Ranking
from watersmeet.engine.pipeline import Outcome, Pipeline
from watersmeet.engine.settings import TwoStageSettings
from watersmeet.store.view import SqliteView


@dataclass(frozen=True, slots=True)
class TwoStage:
    """The same signals, fusion and weights both times."""

    pipeline: Pipeline
    view: SqliteView
    settings: TwoStageSettings

    def run(self, plan: Plan) -> Outcome:
        wide = replace(self.pipeline, stages=()).run(replace(plan, pool=self.settings.pool, told=False))
        best = self._documents(wide.fused)
        if not best:  # nothing was found, so there is nothing to tell
            return wide
        condition = plan.condition.narrowed("document", best)
        outcome = self.pipeline.run(replace(plan, condition=condition, pool=self.settings.pool), self._capped)
        timings = {f"first look: {name}": took for name, took in wide.timings.items()} | outcome.timings
        failures = tuple(dict.fromkeys((*wide.failures, *outcome.failures)))
        return replace(outcome, timings=timings, failures=failures)

    def _documents(self, ranking: Ranking) -> tuple[DocId, ...]:
        """The documents whose chunks have most score in all."""
        owners = self.view.documents_of([hit.chunk for hit in ranking.hits])
        totals: defaultdict[DocId, float] = defaultdict(float)
        for hit in ranking.hits:
            totals[owners[hit.chunk]] += hit.score
        return tuple(sorted(totals, key=lambda document: (-totals[document], document))[: self.settings.documents])

    def _capped(self, ranking: Ranking) -> Ranking:
        owners = self.view.documents_of([hit.chunk for hit in ranking.hits])
        taken: Counter[DocId] = Counter()
        kept = []
        for hit in ranking.hits:
            taken[owners[hit.chunk]] += 1
            if taken[owners[hit.chunk]] <= self.settings.sections:
                kept.append(hit)
        return Ranking(ranking.by, tuple(kept))
