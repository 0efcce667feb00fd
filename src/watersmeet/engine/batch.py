"""The commit point: what was prepared becomes searchable, all of a batch at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from watersmeet.core.indexing import Entry, Found, TextWriter
from watersmeet.core.model import DocId, Row
from watersmeet.core.pages import Document
from watersmeet.core.registry_records import RecordChange
from watersmeet.core.viewers import kept_from_some
from watersmeet.engine.entries import Prepared
from watersmeet.store.local._withheld import PUBLIC_TEXT, analysed
from watersmeet.store.local.catalogue import Catalogue, Changes, Put, StoredChunk


@dataclass(slots=True)
class Batch:
    """Collects changes and commits them: text store first, catalogue last.

    The words of what not everyone may see go into the catalogue, and not into the text store.
    """

    catalogue: Catalogue
    text: TextWriter
    max_chunks: int
    max_seconds: float
    committed: Callable[[int], None] = lambda files: None
    _changes: Changes = field(default_factory=Changes)
    _waiting: list[tuple[Put, list[Prepared], list[Row | None]]] = field(default_factory=list)
    _files: int = 0
    _new: int = 0
    _since: float = field(default_factory=time.monotonic)

    def put(
        self,
        document: Document,
        prepared: Sequence[Prepared],
        hash: bytes,
        collection: int,
        file: tuple[int, str] | None,
        moved_from: DocId | None = None,
    ) -> None:
        """Chunks that say what a live row of the same document says keep that row."""
        private = kept_from_some(document.fields)
        live = self.catalogue.rows_by_hash(moved_from or document.id, private)
        if private and self.catalogue.rows_by_hash(moved_from or document.id):
            self._changes.meta[PUBLIC_TEXT] = ""  # the text store has words of it, if only dead ones
        rows = [live[p.hash].pop(0) if live.get(p.hash) else None for p in prepared]
        self._new += rows.count(None)
        self._waiting.append((Put(document, (), hash, collection, file, moved_from), list(prepared), rows))

    def place(self, document: DocId, prepared: Sequence[Prepared]) -> None:
        """It says what it said, perhaps some lines further down or on another page."""
        self._changes.places.append((document, [p.chunk.place for p in prepared]))

    def date(self, document: DocId, modified: datetime | None, created: datetime | None) -> None:
        """It says what it said, and counts as changed at another time."""
        self._changes.dates.append((document, modified, created))

    def record(self, change: RecordChange) -> None:
        """Commit it with the documents that are made of it."""
        self._changes.records.append(change)

    def remove(self, document: DocId) -> None:
        self._changes.removed.append(document)

    def file(self, root: int, found: Found, hash: bytes, seen: int) -> None:
        """The file is wholly in this batch or an earlier one."""
        self._changes.files.append((root, found, hash, seen))
        self._files += 1

    def forget(self, file: int) -> None:
        self._changes.forgotten.append(file)

    def maybe_commit(self) -> None:
        if self._new >= self.max_chunks or time.monotonic() - self._since > self.max_seconds:
            self.commit()

    def commit(self, last: bool = False) -> None:
        """`last`: of a sync, after which there is time to join what was written."""
        changes, waiting, files = self._changes, self._waiting, self._files
        withheld: dict[Row, dict[str, str]] = {}
        if self._new:
            first = self.catalogue.reserve(self._new)
            changes.reserved.append(first)
            fresh = iter(range(first, first + self._new))
            entries = []
            for put, prepared, rows in waiting:
                private = kept_from_some(put.document.fields)
                for i, item in enumerate(prepared):
                    if rows[i] is None:
                        row = rows[i] = Row(next(fresh))
                        if private:
                            withheld[row] = item.fields
                        else:
                            entries.append(Entry(row, item.fields))
            for part in _evenly(entries, self.text.pieces(len(entries)) if last else 1) if entries else ():
                self.text.add(part)
                self.text.commit()
        for put, prepared, rows in waiting:
            stored = tuple(StoredChunk(row, p.chunk, p.hash) for row, p in zip(rows, prepared, strict=True) if row)
            words = {s.row: analysed(withheld[s.row], self.text.analyse) for s in stored if s.row in withheld}
            changes.put.append(replace(put, chunks=stored, words=words))
        self.catalogue.apply(changes)
        self._changes, self._waiting, self._files, self._new = Changes(), [], 0, 0
        self._since = time.monotonic()
        self.committed(files)


def _evenly(entries: Sequence[Entry], parts: int) -> list[Sequence[Entry]]:
    ends = [len(entries) * part // parts for part in range(parts + 1)]
    return [entries[start:end] for start, end in pairwise(ends)]
