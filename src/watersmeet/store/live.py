"""A text store as the catalogue lets it be seen: dead rows dropped, conditions held, rows turned into ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from watersmeet.core.model import ANY, ChunkId, Condition
from watersmeet.core.ports import Term, TextReader, View

NARROW = 5_000
"""Up to so many matching rows the text store is told where to look; beyond, over-fetching is cheaper."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiveWords:
    """The `Words` port over one state of a text store and one moment of the catalogue."""

    text: TextReader
    view: View

    @property
    def size(self) -> int:
        return self.text.size

    def frequency(self, field: str, text: str) -> int:
        return self.text.frequency(field, text)

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        """Fetch more until there are enough that are live and wanted, or no more."""
        within = self.view.matching(condition, NARROW) if condition else None
        fetch = limit + limit // 4 + 8
        while True:
            offered = self.text.match(terms, fetch, within)
            ids = self.view.resolve([row for row, _ in offered], condition if within is None else ANY)
            found = [(ids[row], score) for row, score in offered if row in ids]
            if len(found) >= limit or len(offered) < fetch:
                return found[:limit]
            fetch *= 4

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        rows = self.view.rows(ids)
        found = self.text.score(terms, rows.values())
        return {chunk: found[row] for chunk, row in rows.items() if row in found}
