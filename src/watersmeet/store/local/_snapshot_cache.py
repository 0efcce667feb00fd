"""What a view remembers of what it was asked: the caches of one snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from watersmeet.core.model import ChunkId, DocId, Row
from watersmeet.store.local import _conditions

MOST_CHUNKS = 20_000
MOST_CONDITIONS = 100
MOST_LISTED = 250_000
"""So many are remembered: who asks for ever others, or with ever new conditions, does not fill the memory."""


class SnapshotCache:
    """Which chunk a row is, whose, what its document goes by, what a condition allows.

    All of that is true until something is committed. It is replaced then, not emptied: a signal that is late fills
    what nobody reads any more.
    """

    def __init__(self) -> None:
        self.ids: dict[Row, ChunkId] = {}
        self.rows: dict[ChunkId, Row] = {}
        self.owners: dict[ChunkId, int] = {}
        self.names: dict[int, DocId] = {}
        self.called: dict[DocId, frozenset[str]] = {}
        self.few: dict[str, list[Row] | None] = {}
        self.shares: dict[str, float] = {}
        self.sample: list[Row] | None = None
        self.needed: dict[tuple[str, ...], bool] = {}
        self.counts: dict[str, int] | None = None
        self.choices: _conditions.Known | None = None

    @property
    def full(self) -> bool:
        if len(self.ids) > MOST_CHUNKS or len(self.few) > MOST_CONDITIONS or len(self.shares) > MOST_CONDITIONS:
            return True
        listed = [len(rows or ()) for rows in self.few.values()]
        return len(listed) > 1 and sum(listed) > MOST_LISTED

    def add(self, found: Iterable[tuple[Row, ChunkId, int]]) -> None:
        for row, chunk, document in found:
            self.ids[row], self.owners[chunk] = chunk, document
            self.rows[chunk] = row  # last: whoever finds it finds the others
