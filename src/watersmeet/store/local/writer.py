"""A local index opened for writing: the catalogue, the words beside it, and the turns that writers take."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from watersmeet.core.errors import IndexBusy, IndexMismatch, SourceProblem, WatersmeetError
from watersmeet.core.indexing import Entry, TextWriter
from watersmeet.core.locks import FileLock, holder_of
from watersmeet.core.model import DocId, Row
from watersmeet.core.ports import TextStore
from watersmeet.core.registry_records import RecordChange
from watersmeet.core.visibility import is_restricted
from watersmeet.core.writing import Changes, Put, Root, WriterOptions
from watersmeet.store.local import _leases, registry_lookup
from watersmeet.store.local._counts import shared
from watersmeet.store.local._private_words import PUBLIC_TEXT, analysed
from watersmeet.store.local._turns import WriterLock, root_lock
from watersmeet.store.local.catalogue import Catalogue, Placed
from watersmeet.store.local.rebuild_text import rewrite
from watersmeet.store.local.records import LocalRecords

PATIENCE = 600.0
"""Seconds that a writer waits to go on when it has let others write: why throw away what it has read?"""


@dataclass(frozen=True, slots=True)
class LocalWriterOptions:
    """What the engine decides about an index that is opened for writing, and how its stores are opened."""

    engine: WriterOptions
    text: str
    """The kind of its text store."""
    open_text: Callable[[str, str], TextStore]
    """A text store of a kind, in a folder."""
    drop: Callable[[Mapping[str, str], Sequence[Row]], None]
    """Delete rows from the vector stores that the facts name."""


class LocalWriter(Catalogue):
    """Whoever has one holds the writer's lock, but for the turns of others."""

    def __init__(self, folder: str, lock: WriterLock, options: LocalWriterOptions) -> None:
        super().__init__(folder)
        self.options = options
        self.covered: list[str] = []
        """Where the roots lie that the index had when it was opened, also if its catalogue was lost."""
        self.mended = False
        """Whether the words had to be made again."""
        self._lock = lock
        self._reading: list[FileLock] = []
        self._file = os.stat(self.path).st_ino
        self._store: TextStore | None = None
        self._text: TextWriter | None = None

    def close(self) -> None:
        try:
            self.close_text()
        finally:
            super().close()

    # ------------------------------------------------------------ the words

    @property
    def text(self) -> TextWriter:
        if self._text is None:
            meta = self.meta()
            return self.open_text(json.loads(meta["fingerprint"])["text"], meta["text_folder"])
        return self._text

    def open_text(self, kind: str, name: str) -> TextWriter:
        """The text store of that name, made if there is none."""
        self._store = self.options.open_text(kind, os.path.join(self.folder, name))
        self._text = self._store.writer()
        return self._text

    def close_text(self) -> None:
        (text, self._text), (store, self._store) = (self._text, None), (self._store, None)
        with ExitStack() as stack:
            if store is not None:
                stack.callback(store.close)
            if text is not None:
                stack.callback(text.close)

    def rewrite(self) -> None:
        """The words anew, of the live rows and no others."""
        self.close_text()
        meta = self.meta()
        rewrite(self, self.options.open_text, json.loads(meta["fingerprint"])["text"], meta, self.renew)

    def finish(self) -> None:
        """If something that was public has become private, the text store is made again without its words."""
        if not self.meta().get(PUBLIC_TEXT, "unknown"):
            self.rewrite()

    # ------------------------------------------------------------ the commit point

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        """Text store first, catalogue last. The words of what not everyone may see go into the catalogue, and not into
        the text store. Chunks that say what a live row of the same document says keep that row."""
        kept = [self._kept_rows(put, changes) for put in changes.put]
        new = sum(rows.count(None) for rows in kept)
        if not new:
            return self.apply(changes, [Placed(put, _all(rows)) for put, rows in zip(changes.put, kept, strict=True)])
        first = self.reserve(new)
        with ExitStack() as undo:
            undo.callback(self._give_back, first)
            fresh = iter(range(first, first + new))
            entries: list[Entry] = []
            placed = [self._placed(put, rows, fresh, entries) for put, rows in zip(changes.put, kept, strict=True)]
            for part in _evenly(entries, self.text.pieces(len(entries)) if last else 1) if entries else ():
                self.text.add(part)
                self.renew()
                self.text.commit()
            self.renew()
            refused = self.apply(changes, placed, first)
            undo.pop_all()
        return refused

    def _kept_rows(self, put: Put, changes: Changes) -> list[Row | None]:
        """The live row that says what each chunk says."""
        private = is_restricted(put.document.fields)
        before = put.moved_from or put.document.id
        live = self.rows_by_hash(before, private)
        if private and self.rows_by_hash(before):
            changes.facts[PUBLIC_TEXT] = ""  # the text store has words of it, if only dead ones
        return [live[one.hash].pop(0) if live.get(one.hash) else None for one in put.chunks]

    def _placed(self, put: Put, rows: Sequence[Row | None], fresh: Iterator[int], entries: list[Entry]) -> Placed:
        """With a row for each chunk; what is new goes to `entries`, or aside if it is private."""
        private = is_restricted(put.document.fields)
        words = {}
        chosen = []
        for chunk, known in zip(put.chunks, rows, strict=True):
            row = known if known is not None else Row(next(fresh))
            chosen.append(row)
            if known is None and private:
                words[row] = analysed(chunk.fields, self.text.analyse)
            elif known is None:
                entries.append(Entry(row, chunk.fields))
        return Placed(put, tuple(chosen), words)

    def _give_back(self, first: int) -> None:
        with suppress(WatersmeetError), self.transaction() as db:  # else they are reclaimed some day
            _leases.give_back(db, first)

    # ------------------------------------------------------------ turns

    def renew(self) -> None:
        self._lock.renew()
        for lock in self._reading:
            lock.renew()

    def take_turns(self) -> None:
        self.renew()
        if self._lock.is_wanted():
            with self._let_go():
                pass

    @contextmanager
    def _let_go(self) -> Iterator[None]:
        """Others write meanwhile."""
        self.close_text()
        self.lease = self.lease and replace(self.lease, fence=0)  # nothing is written before there is another
        self._lock.release()
        yield
        self._lock.take(PATIENCE)
        if os.stat(self.path).st_ino != self._file:
            raise IndexMismatch(f"{self.folder} was built anew meanwhile", "run the same command again")
        self.begin()

    @contextmanager
    def root_lease(self, root: Root) -> Iterator[None]:
        lock = root_lock(self.folder, root.id)
        with ExitStack() as stack:
            stack.callback(lock.release)
            if not lock.attempt():
                with self._let_go():
                    self._await(lock, root)
            lock.write_holder()
            self._reading.append(lock)
            stack.callback(self._reading.remove, lock)
            self._leased.add(root.id)
            stack.callback(self._leased.discard, root.id)
            if (root.id, root.path) not in [(known.id, known.path) for known in self.roots()]:
                raise SourceProblem(f"{root.path} was taken out of the index meanwhile", "sync it again, or let it be")
            yield

    def _await(self, lock: FileLock, root: Root) -> None:
        wait = self.options.engine.lock_seconds
        try:
            lock.take(wait)
        except IndexBusy:
            raise IndexBusy(
                f"{holder_of(lock.path)} is reading {root.path} into {self.folder}",
                f"nothing was committed for {wait:g} s; try again when it is done, or raise writer.lock_seconds",
            ) from None

    def relocate(self, moves: Sequence[tuple[Root, str]]) -> int:
        with ExitStack() as stack:
            for root, _ in moves:
                stack.enter_context(self.root_lease(root))
            return super().relocate(moves)

    # ------------------------------------------------------------ what is registered

    def records(self, stage: Callable[[RecordChange], None]) -> LocalRecords:
        return LocalRecords(self, stage)

    def spelled(self, path: str) -> str:
        return registry_lookup.spelled(self, path)

    def claimed(self, identity: str) -> bool | str | None:
        return registry_lookup.claimed(self, identity)

    def tools_of(self, path: str) -> list[DocId]:
        return registry_lookup.tools_of(self, path)

    def contents(self) -> dict[str, str]:
        return registry_lookup.contents(self)

    def last_row(self) -> int:
        return registry_lookup.last_row(self)

    # ------------------------------------------------------------ compaction

    def compact(self, grace: float, share: float) -> int:
        """Words are written anew; the other stores let go of what has been dead for longer than a query may last."""
        rows = self.dead(time.time() - grace)
        _, live = self.counts()
        wasted = self.text.row_count() - shared(self.db)
        freed = 0
        if wasted > 0 and wasted >= share * (live + wasted):
            self.rewrite()
            freed = wasted
        if rows and len(rows) >= share * (live + len(rows)):
            self.options.drop(self.meta(), rows)
            self.bury(rows)
            freed = max(freed, len(rows))
        return freed


def _all(rows: Sequence[Row | None]) -> tuple[Row, ...]:
    return tuple(row for row in rows if row is not None)


def _evenly(entries: Sequence[Entry], parts: int) -> list[Sequence[Entry]]:
    ends = [len(entries) * part // parts for part in range(parts + 1)]
    return [entries[start:end] for start, end in pairwise(ends)]
