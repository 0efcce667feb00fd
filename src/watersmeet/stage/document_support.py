"""A page that has much on the subject is more likely to be the one that is meant than a page that mentions it once.

One or two good passages say nothing of the page: many pages have no more. From the third on they speak for it, as far
as they are above what is usual among the candidates.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocumentSupport:
    """The best passage of a document gains by the document's further good ones; the others stay where they are."""

    view: PassageReader
    weight: float = option(0.5, "what the further passages' mean counts for beside the best one")
    skip_passages: int = option(2, "how many passages of a document say nothing of it")
    max_passages: int = option(4, "how many further ones are looked at; those that are missing count as 0")

    def __post_init__(self) -> None:
        if self.max_passages < 1:
            raise ConfigError("stage.document_support.max_passages must be at least 1", "weight = 0 switches the stage off")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if len(ranking.hits) <= self.skip_passages:
            return ranking
        usual = _median(ranking.hits)
        good = ranking.hits[: bisect_left(ranking.hits, -usual, key=_downwards)]
        owners = self.view.owners_of([hit[0] for hit in good])
        found: dict[int, list[Hit]] = {}
        for hit in good:
            found.setdefault(owners[hit[0]], []).append(hit)
        gains, passages = {}, {}
        for hits in found.values():
            if len(hits) > self.skip_passages:
                further = [
                    hit.score - usual for hit in hits[self.skip_passages : self.skip_passages + self.max_passages]
                ]
                gains[hits[0].chunk] = self.weight * sum(further) / self.max_passages
                passages[hits[0].chunk] = {"passages": len(further)}
        return ranking.raised("document_support", gains, passages)


def _downwards(hit: Hit) -> float:
    return -hit[1]


def _median(hits: Sequence[Hit]) -> float:
    """Of hits in their order, so that nothing need be sorted."""
    half = len(hits) // 2
    return hits[half].score if len(hits) % 2 else (hits[half - 1].score + hits[half].score) / 2
