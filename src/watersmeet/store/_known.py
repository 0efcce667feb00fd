"""What a view remembers of the chunks it has met."""

from __future__ import annotations

from collections.abc import Iterable

from watersmeet.core.model import ChunkId, DocId, Row

MOST_KNOWN = 20_000
"""So many chunks are remembered: who asks for ever others does not fill the memory."""


class Known:
    """Which chunk a row is, and of which document: the same for as long as nothing is committed.

    It is replaced then, not emptied: a signal that is late fills what nobody reads any more.
    """

    def __init__(self) -> None:
        self.ids: dict[Row, ChunkId] = {}
        self.rows: dict[ChunkId, Row] = {}
        self.owners: dict[ChunkId, int] = {}
        self.names: dict[int, DocId] = {}
        self.called: dict[DocId, frozenset[str]] = {}

    def add(self, found: Iterable[tuple[Row, ChunkId, int]]) -> None:
        for row, chunk, document in found:
            self.ids[row], self.owners[chunk] = chunk, document
            self.rows[chunk] = row  # last: whoever finds it finds the others
