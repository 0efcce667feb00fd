"""What is far below the best hit is left out, as long as a few remain."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class Floor:
    """Measured against the best score, not between best and worst: the last hit is not always at 0."""

    share: float = option(0.2, "hits below this share of the best score are dropped")
    min_results: int = option(3, "... but never so that fewer than this remain")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        return Ranking("floor", ranking.hits[: ranking.reaching(self.share, self.min_results)])
