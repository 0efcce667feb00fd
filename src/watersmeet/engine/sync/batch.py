"""Batched commits: prepared changes become searchable together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.core.registry_records import RecordChange
from watersmeet.core.text_fields import Prepared
from watersmeet.core.writing import Changes, Put, Writer

FIRST_SECONDS = 0.5
"""A new index commits this early for the first time, and then each time after twice as long: searches need not wait."""

RENEW_SECONDS = 0.5
"""How often a writer renews its lease."""

SMALL_CHANGES_PER_CHUNK = 10
"""This many removed, moved or dated documents count as one new chunk."""


@dataclass(slots=True)
class Batch:
    """A batch of changes. Between two commits other writers get a turn."""

    writer: Writer
    max_chunks: int
    max_seconds: float
    committing: Callable[[], None] = lambda: None
    """Callback before each commit."""
    committed: Callable[[int], None] = lambda files: None
    """Callback with the number of committed files."""
    refused: Callable[[Put], None] = lambda put: None
    """Callback for each document whose id was taken meanwhile."""
    on_put: Callable[[Put], None] = lambda put: None
    """Callback for each document that is to be stored."""
    seconds: float = math.inf
    """Time until the next commit, if shorter than `max_seconds`; it doubles with each."""
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
        put = Put(document, tuple(prepared), hash, collection, file, moved_from)
        self._changes.put.append(put)
        self.on_put(put)

    def place(self, document: DocId, prepared: Sequence[Prepared]) -> None:
        """Update the places of an unchanged document: its lines or pages may have moved."""
        self._changes.places.append((document, [p.chunk.place for p in prepared]))
        self._small += 1

    def date(self, document: DocId, modified: datetime | None, created: datetime | None) -> None:
        """Update the dates of an unchanged document."""
        self._changes.dates.append((document, modified, created))
        self._small += 1

    def record(self, change: RecordChange) -> None:
        """Commit a registry record together with its documents."""
        self._changes.records.append(change)

    def remove(self, document: DocId) -> None:
        self._changes.removed.append(document)
        self._small += 1

    def file(self, root: int, found: Found, hash: bytes, read_at: int) -> None:
        """Record a file, all documents of which are in this batch or an earlier one."""
        self._changes.files.append((root, found, hash, read_at))
        self._files += 1

    def forget(self, file: int) -> None:
        self._changes.forgotten.append(file)

    def cursor(self, root: int, cursor: str) -> None:
        """Store the cursor of a root's source with this batch."""
        self._changes.cursors[root] = cursor

    def maybe_commit(self) -> None:
        """Commit if the batch is full or old enough, then let other writers have a turn."""
        now = time.monotonic()
        full = self._chunks >= self.max_chunks or self._small >= SMALL_CHANGES_PER_CHUNK * self.max_chunks
        if full or now - self._since > min(self.seconds, self.max_seconds):
            self.commit()
            self.seconds *= 2
            self.writer.take_turns()
            self._since = self._renewed = time.monotonic()
        elif now - self._renewed > RENEW_SECONDS:
            self.writer.renew()
            self._renewed = now

    def commit(self, last: bool = False) -> None:
        """Commit the batch. `last`: of a sync, after which stores may merge their segments."""
        self.committing()
        changes, files = self._changes, self._files
        refused = self.writer.commit(changes, last)
        self._changes, self._files, self._chunks, self._small = Changes(), 0, 0, 0
        self._since = time.monotonic()
        self.committed(files)
        for put in refused:
            self.refused(put)
