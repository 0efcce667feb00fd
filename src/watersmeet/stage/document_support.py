"""Document support: a document with several good passages is more likely relevant than one with a single mention.

One or two good passages are no evidence, since many documents have them. From the third on they count, as far as their
scores are above the median of the candidates.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from watersmeet.core.errors import ConfigError
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocumentSupport:
    """A stage that raises the best passage of a document by its further good ones; the others are unchanged."""

    view: PassageReader
    weight: float = option(0.5, "weight of the mean of the further passages")
    skip_passages: int = option(2, "how many passages of a document are not counted")
    max_passages: int = option(4, "how many further passages are counted; missing ones count as 0")

    def __post_init__(self) -> None:
        if self.max_passages < 1:
            raise ConfigError(
                "stage.document_support.max_passages must be at least 1", "weight = 0 switches the stage off"
            )

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if len(ranking.hits) <= self.skip_passages:
            return ranking
        median = _median(ranking.hits)
        good = ranking.hits[: bisect_left(ranking.hits, -median, key=_downwards)]
        owners = self.view.owners_of([hit[0] for hit in good])
        found: dict[int, list[Hit]] = {}
        for hit in good:
            found.setdefault(owners[hit[0]], []).append(hit)
        gains, passages = {}, {}
        for hits in found.values():
            if len(hits) > self.skip_passages:
                surplus = [
                    hit.score - median for hit in hits[self.skip_passages : self.skip_passages + self.max_passages]
                ]
                gains[hits[0].chunk] = self.weight * sum(surplus) / self.max_passages
                passages[hits[0].chunk] = {"passages": len(surplus)}
        return ranking.raised("document_support", gains, passages)


def _downwards(hit: Hit) -> float:
    return -hit[1]


def _median(hits: Sequence[Hit]) -> float:
    """Median score of ordered hits, without sorting."""
    half = len(hits) // 2
    return hits[half].score if len(hits) % 2 else (hits[half - 1].score + hits[half].score) / 2
