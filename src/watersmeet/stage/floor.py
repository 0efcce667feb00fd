"""Score floor: hits far below the best are dropped, as long as a few remain."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class Floor:
    """A stage that drops hits below a share of the best score; relative to 0, not to the worst hit."""

    share: float = option(0.2, "hits below this share of the best score are dropped")
    min_results: int = option(3, "... but never so that fewer than this remain")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        return Ranking("floor", ranking.hits[: ranking.reaching(self.share, self.min_results)])
