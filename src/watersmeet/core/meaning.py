"""From what a vector store found to a ranking that says which scores are estimates."""

from __future__ import annotations

from collections.abc import Iterable

from watersmeet.core.model import Hit, Ranking
from watersmeet.core.vectors import Near


def by_meaning(by: str, found: Iterable[Near]) -> Ranking:
    near = list(found)
    ranking = Ranking.of(by, (Hit(chunk, cosine) for chunk, cosine, _ in near))
    notes = {chunk: {"estimated": True} for chunk, _, estimated in near if estimated}
    return Ranking(by, ranking.hits, notes)
