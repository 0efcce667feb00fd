"""The commit point: what was prepared becomes searchable, all of a batch at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.core.model import DocId
from watersmeet.core.registry_records import RecordChange
from watersmeet.core.text_fields import Prepared
from watersmeet.core.writing import Changes, Put, Writer

RENEW_SECONDS = 0.5
"""How often a writer shows that it gets on."""

SMALL = 10
"""So many removed, moved or dated documents weigh as much as a new chunk."""


@dataclass(slots=True)
class Batch:
    """Collects changes and commits them; between two batches others may write."""

    writer: Writer
    max_chunks: int
    max_seconds: float
    committed: Callable[[int], None] = lambda files: None
    """Told how many files are safe."""
    refused: Callable[[Put], None] = lambda put: None
    """Told of each document whose id somebody else has taken meanwhile."""
    _changes: Changes = field(default_factory=Changes)
    _files: int = 0
    _chunks: int = 0
    _small: int = 0
    _since: float = field(default_factory=time.monotonic)
    _renewed: float = 0.0

    def put(
        self,
        document: Document,
        prepared: Sequence[Prepared],
        hash: bytes,
        collection: int,
        file: tuple[int, str] | None,
        moved_from: DocId | None = None,
    ) -> None:
        self._chunks += len(prepared)
        self._changes.put.append(Put(document, tuple(prepared), hash, collection, file, moved_from))

    def place(self, document: DocId, prepared: Sequence[Prepared]) -> None:
        """It says what it said, perhaps some lines further down or on another page."""
        self._changes.places.append((document, [p.chunk.place for p in prepared]))
        self._small += 1

    def date(self, document: DocId, modified: datetime | None, created: datetime | None) -> None:
        """It says what it said, and counts as changed at another time."""
        self._changes.dates.append((document, modified, created))
        self._small += 1

    def record(self, change: RecordChange) -> None:
        """Commit it with the documents that are made of it."""
        self._changes.records.append(change)

    def remove(self, document: DocId) -> None:
        self._changes.removed.append(document)
        self._small += 1

    def file(self, root: int, found: Found, hash: bytes, seen: int) -> None:
        """The file is wholly in this batch or an earlier one."""
        self._changes.files.append((root, found, hash, seen))
        self._files += 1

    def forget(self, file: int) -> None:
        self._changes.forgotten.append(file)

    def cursor(self, root: int, cursor: str) -> None:
        """Where the root's source goes on, once this batch is committed."""
        self._changes.cursors[root] = cursor

    def maybe_commit(self) -> None:
        """Commit if the batch is full or has waited for long enough; then whoever waits may write."""
        now = time.monotonic()
        full = self._chunks >= self.max_chunks or self._small >= SMALL * self.max_chunks
        if full or now - self._since > self.max_seconds:
            self.commit()
            self.writer.take_turns()
            self._since = self._renewed = time.monotonic()
        elif now - self._renewed > RENEW_SECONDS:
            self.writer.renew()
            self._renewed = now

    def commit(self, last: bool = False) -> None:
        """`last`: of a sync, after which there is time to join what was written."""
        changes, files = self._changes, self._files
        refused = self.writer.commit(changes, last)
        self._changes, self._files, self._chunks, self._small = Changes(), 0, 0, 0
        self._since = time.monotonic()
        self.committed(files)
        for put in refused:
            self.refused(put)
