"""Scores scaled to 0 to 1, the best at 1.0; the order is unchanged."""

from __future__ import annotations

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan, Ranking


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unit:
    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        return ranking.unit()
