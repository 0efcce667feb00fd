"""Recency boost for documents changed lately."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader

REACH = 5
"""Only hits that could reach the first `REACH * top_n` ranks are examined."""


@dataclass(frozen=True, slots=True)
class Recency:
    """A stage that multiplies scores by a factor for the document's age at `plan.now`; both limits are inclusive."""

    view: PassageReader
    fresh_days: float = option(7.0, "up to this age a document is fresh")
    fresh: float = option(1.2, "factor for fresh documents")
    recent_days: float = option(30.0, "up to this age a document is recent")
    recent: float = option(1.1, "factor for recent documents")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if plan.now is None or not ranking.hits:
            return ranking
        last = ranking.hits[: REACH * plan.top_n][-1].score
        most = max(self.fresh, self.recent, 1.0)
        least = last / most if last >= 0 else last * most
        dates = self.view.dates_of([hit.chunk for hit in ranking.hits if hit.score >= least])
        factors = {chunk: self._factor(plan.now, modified) for chunk, modified in dates.items()}
        return ranking.multiplied("recency", factors)

    def _factor(self, now: datetime, modified: datetime) -> float:
        age = now - modified
        if age <= timedelta(days=self.fresh_days):
            return self.fresh
        return self.recent if age <= timedelta(days=self.recent_days) else 1.0
