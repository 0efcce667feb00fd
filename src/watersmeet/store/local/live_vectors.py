"""The vectors, or weighted terms, of one tier as the catalogue lets them be seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, Condition
from watersmeet.store.local.live_words import best

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix
    from watersmeet.store.local.snapshot import LocalSnapshot


FEW = 20_000
"""So many rows are gathered rather than scanned for among all: a condition that one in a hundred passes, at a million
rows, takes 4 ms of CPU instead of 140."""


class LiveVectors:
    """The `Vectors` port of a snapshot; which files it reads, the snapshot says each time."""

    def __init__(self, snapshot: LocalSnapshot, tier: Tier, seen: Condition) -> None:
        self._view, self._tier, self._seen = snapshot, tier, seen

    def nearest(self, queries: Sequence[Any], condition: Condition, limit: int) -> list[dict[ChunkId, float]]:
        found = [self._nearest(query, condition, limit) for query in queries]
        if len(found) == 1:
            return found
        ranked = set[ChunkId]().union(*found)
        return [one | self._score(query, ranked - one.keys()) for query, one in zip(queries, found, strict=True)]

    def _nearest(self, query: Any, condition: Condition, limit: int) -> dict[ChunkId, float]:
        reader = self._view.reader(self._tier, self._seen)
        found, ids = best(lambda fetch, within: reader.search(query, fetch, within), self._view, condition, limit, FEW)
        return {ids[row]: score for row, score in found}

    def score(self, queries: Sequence[Any], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        return [self._score(query, ids) for query in queries]

    def _score(self, query: Any, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        rows = self._view.rows(ids)
        found = self._view.reader(self._tier, self._seen).score(query, rows.values())
        return {chunk: found[row] for chunk, row in rows.items() if row in found}

    def read(self, ids: Sequence[ChunkId]) -> Matrix:
        """The vectors of these chunks that are held, in this order."""
        rows = self._view.rows(ids)
        reader = self._view.reader(self._tier, self._seen)
        there = [rows[chunk] for chunk in ids if chunk in rows]
        held = reader.has(there)
        found: Matrix = reader.vectors([row for row, is_held in zip(there, held, strict=True) if is_held])
        return found
