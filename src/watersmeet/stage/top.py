"""Cut to the requested number of hits."""

from __future__ import annotations

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan, Ranking


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Top:
    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        return Ranking("top", ranking.hits[: plan.top_n])
