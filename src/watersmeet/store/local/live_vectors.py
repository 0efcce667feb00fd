"""Vectors, or weighted terms, of one tier, filtered by the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, Condition
from watersmeet.store.local.live_words import best

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix
    from watersmeet.store.local.snapshot import LocalSnapshot


MAX_GATHERED = 20_000
"""Up to so many rows are gathered instead of scanning all: a condition that 1% of a million rows pass takes 4 ms of
CPU instead of 140."""


class LiveVectors:
    """The `Vectors` port of a snapshot, which provides the reader for each call."""

    def __init__(self, snapshot: LocalSnapshot, tier: Tier, visible: Condition) -> None:
        self._snapshot, self._tier, self._visible = snapshot, tier, visible

    def nearest(self, queries: Sequence[Any], condition: Condition, limit: int) -> list[dict[ChunkId, float]]:
        found = [self._nearest(query, condition, limit) for query in queries]
        if len(found) == 1:
            return found
        ranked = set[ChunkId]().union(*found)
        return [one | self._score(query, ranked - one.keys()) for query, one in zip(queries, found, strict=True)]

    def _nearest(self, query: Any, condition: Condition, limit: int) -> dict[ChunkId, float]:
        reader = self._snapshot.reader(self._tier, self._visible)
        found, ids = best(
            lambda fetch, within: reader.search(query, fetch, within), self._snapshot, condition, limit, MAX_GATHERED
        )
        return {ids[row]: score for row, score in found}

    def score(self, queries: Sequence[Any], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        return [self._score(query, ids) for query in queries]

    def _score(self, query: Any, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        rows = self._snapshot.rows(ids)
        found = self._snapshot.reader(self._tier, self._visible).score(query, rows.values())
        return {chunk: found[row] for chunk, row in rows.items() if row in found}

    def read(self, ids: Sequence[ChunkId]) -> Matrix:
        """The vectors of those of these chunks that are embedded, in this order."""
        rows = self._snapshot.rows(ids)
        reader = self._snapshot.reader(self._tier, self._visible)
        live_rows = [rows[chunk] for chunk in ids if chunk in rows]
        is_embedded = reader.has(live_rows)
        found: Matrix = reader.vectors([row for row, embedded in zip(live_rows, is_embedded, strict=True) if embedded])
        return found
