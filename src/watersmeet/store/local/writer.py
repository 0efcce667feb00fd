"""A local index opened for writing: the catalogue, the text store, and the writer lock."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import pairwise

from watersmeet.core.entities import CONTENT, TOOL
from watersmeet.core.errors import IndexBusy, IndexMismatch, SourceProblem, WatersmeetError
from watersmeet.core.indexing import Entry, TextWriter
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.locks import FileLock, holder_of
from watersmeet.core.model import DocId, Row
from watersmeet.core.names import entity_path, is_text, link_key, same_path
from watersmeet.core.ports import TextStore
from watersmeet.core.registry_records import RecordChange
from watersmeet.core.visibility import Audience, is_restricted
from watersmeet.core.writing import Changes, Put, Root, WriterOptions
from watersmeet.store.local import _audiences, _leases
from watersmeet.store.local._counts import recount, shared
from watersmeet.store.local._private_words import PUBLIC_TEXT, analysed
from watersmeet.store.local._records import stored
from watersmeet.store.local._turns import WriterLock, root_lock
from watersmeet.store.local.catalogue import Catalogue, Placed
from watersmeet.store.local.compaction import compact_piece
from watersmeet.store.local.rebuild_text import rewrite, write_anew
from watersmeet.store.local.records import LocalRecords

TURN_WAIT_SECONDS = 600.0
"""Seconds that a writer waits for its next turn; long, so that what it has read is not lost."""


@dataclass(frozen=True, slots=True)
class LocalWriterOptions:
    """The engine's options for writing, and how the stores are opened."""

    engine: WriterOptions
    text: str
    """The kind of text store."""
    open_text: Callable[[str, str], TextStore]
    """Opens a text store, by kind and folder."""
    drop: Callable[[Mapping[str, str], Sequence[Row]], None]
    """Deletes rows from the vector stores that the facts name."""


class LocalWriter(Catalogue):
    """A writer, which holds the writer lock except during the turns of others."""

    def __init__(self, folder: str, lock: WriterLock, options: LocalWriterOptions) -> None:
        super().__init__(folder)
        self.options = options
        self.covered: list[str] = []
        """Paths of the roots when the index was opened, also if its catalogue was lost."""
        self.mended = False
        """Whether the text store had to be rebuilt."""
        self._lock = lock
        self._root_locks: list[FileLock] = []
        self._file = os.stat(self.path).st_ino
        self._store: TextStore | None = None
        self._text: TextWriter | None = None

    def close(self) -> None:
        try:
            self.close_text()
        finally:
            super().close()

    # ------------------------------------------------------------ the text store

    @property
    def text(self) -> TextWriter:
        if self._text is None:
            meta = self.meta()
            return self.open_text(json.loads(meta["fingerprint"])["text"], meta["text_folder"])
        return self._text

    def open_text(self, kind: str, name: str) -> TextWriter:
        """Opens the text store of that name, created if there is none."""
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
        """Rebuilds the text store from the live rows."""
        self.close_text()
        meta = self.meta()
        rewrite(self, self.options.open_text, json.loads(meta["fingerprint"])["text"], meta, self.renew)

    def finish(self) -> None:
        """Rebuilds the text store if a public document has become private, to remove its words."""
        if not self.meta().get(PUBLIC_TEXT, "unknown"):
            self.rewrite()

    # ------------------------------------------------------------ audiences

    def set_audience(self, collection: int, audience: Audience) -> None:
        name = self.collections()[collection]
        with self.transaction() as db:
            self._restamp(db, "collection = ?", (collection,), audience)
            _audiences.store(db, name, audience)  # last: a collection without documents is deleted
            self.start_afresh(db)

    def set_root_collection(self, root: int, collection: int) -> None:
        of_root = "file IN (SELECT id FROM files WHERE root = ?)"
        audience = self.collection_audiences().get(collection, ())
        with self.transaction() as db:
            db.execute("UPDATE roots SET collection = ? WHERE id = ?", (collection, root))
            db.execute(f"UPDATE documents SET collection = ? WHERE {of_root}", (collection, root))
            self._restamp(db, of_root, (root,), audience)

    def _restamp(self, db: sqlite3.Connection, which: str, values: Sequence[object], audience: Audience) -> None:
        """Gives documents another audience. If words move between the text store and the catalogue, the text store is
        written anew before the transaction ends: it never has a word of a private row, and never lacks a public one."""
        if _audiences.restamp(db, which, values, audience):
            self.close_text()
            meta = self.meta()
            write_anew(db, self, self.options.open_text, json.loads(meta["fingerprint"])["text"], meta, self.renew)
            recount(db)

    # ------------------------------------------------------------ the commit point

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        """Commits the text store first, the catalogue last. Words of private rows go into the catalogue only. A
        chunk with the same text as a live row of its document keeps that row."""
        changes = replace(changes, put=self.stamped(changes.put))
        unchanged = [self._unchanged_rows(put, changes) for put in changes.put]
        new = sum(rows.count(None) for rows in unchanged)
        if not new:
            return self.apply(
                changes, [Placed(put, _without_none(rows)) for put, rows in zip(changes.put, unchanged, strict=True)]
            )
        first = self.reserve(new)
        with ExitStack() as undo:
            undo.callback(self._give_back, first)
            fresh = iter(range(first, first + new))
            entries: list[Entry] = []
            placed = [self._placed(put, rows, fresh, entries) for put, rows in zip(changes.put, unchanged, strict=True)]
            self.add_evenly(self.text, entries, last)
            self.renew()
            refused = self.apply(changes, placed, first)
            undo.pop_all()
        return refused

    def add_evenly(self, text: TextWriter, entries: Sequence[Entry], last: bool) -> None:
        """Adds and commits entries to a text store; the `last` ones in as many parts as make the store merge."""
        for part in _split_evenly(entries, text.pieces(len(entries)) if last else 1) if entries else ():
            text.add(part)
            self.renew()
            text.commit()

    def _unchanged_rows(self, put: Put, changes: Changes) -> list[Row | None]:
        """For each chunk the live row with the same text, if any."""
        private = is_restricted(put.document.fields)
        before = put.moved_from or put.document.id
        live = self.rows_by_hash(before, private)
        if private and self.rows_by_hash(before):
            changes.facts[PUBLIC_TEXT] = ""  # the text store has its words, if only in dead rows
        return [live[one.hash].pop(0) if live.get(one.hash) else None for one in put.chunks]

    def _placed(self, put: Put, rows: Sequence[Row | None], fresh: Iterator[int], entries: list[Entry]) -> Placed:
        """The document with a row for each chunk. New public rows go to `entries`, words of private ones to `words`."""
        private = is_restricted(put.document.fields)
        words = {}
        chosen = []
        for chunk, unchanged in zip(put.chunks, rows, strict=True):
            row = unchanged if unchanged is not None else Row(next(fresh))
            chosen.append(row)
            if unchanged is None and private:
                words[row] = analysed(chunk.fields, self.text.analyse)
            elif unchanged is None:
                entries.append(Entry(row, chunk.fields))
        return Placed(put, tuple(chosen), words)

    def _give_back(self, first: int) -> None:
        with suppress(WatersmeetError), self.transaction() as db:  # else they are reclaimed later
            _leases.give_back(db, first)

    # ------------------------------------------------------------ turns

    def renew(self) -> None:
        self._lock.renew()
        for lock in self._root_locks:
            lock.renew()

    def is_wanted(self) -> bool:
        """Whether another writer waits for its turn."""
        return self._lock.is_wanted()

    def take_turns(self) -> None:
        self.renew()
        if self.is_wanted():
            with self._lock_released():
                pass

    @contextmanager
    def _lock_released(self) -> Iterator[None]:
        """Releases the writer lock, so that others write meanwhile."""
        self.close_text()
        self.lease = self.lease and replace(self.lease, fence=0)  # no write before the next lease
        self._lock.release()
        yield
        self._lock.take(TURN_WAIT_SECONDS)
        if os.stat(self.path).st_ino != self._file:
            raise IndexMismatch(f"{self.folder} was built anew meanwhile", "run the same command again")
        self.begin()

    @contextmanager
    def root_lease(self, root: Root) -> Iterator[None]:
        lock = root_lock(self.folder, root.id)
        with ExitStack() as stack:
            stack.callback(lock.release)
            if not lock.attempt():
                with self._lock_released():
                    self._wait_for_root(lock, root)
            lock.write_holder()
            self._root_locks.append(lock)
            stack.callback(self._root_locks.remove, lock)
            self._leased.add(root.id)
            stack.callback(self._leased.discard, root.id)
            if (root.id, root.path) not in [(current.id, current.path) for current in self.roots()]:
                raise SourceProblem(
                    f"{root.path} was taken out of the index meanwhile", "sync it again if it belongs there"
                )
            yield

    def _wait_for_root(self, lock: FileLock, root: Root) -> None:
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

    # ------------------------------------------------------------ registry

    def records(self, stage: Callable[[RecordChange], None]) -> LocalRecords:
        return LocalRecords(self, stage)

    def spelled(self, path: str) -> str:
        """The path of an entity as registered, however it is written here; empty if there is none."""
        if not is_text(path):
            return ""
        if stored(self.db, path) is not None:
            return path
        found = self.db.execute(
            "SELECT d.name FROM names n JOIN documents d ON d.id = n.document"
            " WHERE n.key = ? AND n.rank = 0 AND d.kind <> ? AND d.file IS NULL ORDER BY d.id",
            (link_key(DocId(""), entity_path(path), "wiki"), TOOL),
        )
        return next((name for (name,) in found if same_path(name) == same_path(path)), "")

    def claimed(self, identity: str) -> bool | str | None:
        """The owner of an id: an entity (False), a tool (True), a document of a file (its kind), or None."""
        if not is_text(identity):
            return None
        sql = "SELECT kind, file IS NULL AND json_type(fields, '$.record') IS NOT NULL FROM documents WHERE name = ?"
        found = self.db.execute(sql, (identity,)).fetchone()
        if found is None:
            return None
        return found[0] == TOOL if found[1] else str(found[0])

    def tools_of(self, path: str) -> list[DocId]:
        """The document ids of an entity's tools."""
        rows = self.db.execute(
            "SELECT name FROM documents WHERE name > ? AND name < ? AND kind = ? AND +file IS NULL",  # by its name
            (path + "#", path + "$", TOOL),  # $ comes after #
        )
        return [name for (name,) in rows]

    def contents(self) -> dict[str, str]:
        """The content hash of each entity, by path, in alphabetical order."""
        rows = self.db.execute(
            "SELECT d.name, f.value FROM facets f JOIN documents d ON d.id = f.document"
            " WHERE f.key = ? ORDER BY d.name",
            (CONTENT,),
        )
        return dict(rows.fetchall())

    def last_row(self) -> int:
        """The highest live row; rows written later are higher."""
        return int(self.db.execute("SELECT coalesce(max(row), 0) FROM chunks").fetchone()[0])

    # ------------------------------------------------------------ compaction

    def compact(self, grace: float, share: float) -> int:
        """Rebuilds the text store and drops rows dead for `grace` seconds from the others, if the share of dead rows is
        at least `share`; returns how many rows were freed. Between two pieces of the text store others write."""
        freed = 0
        while wasted := self._wasted(share):
            freed = max(freed, wasted)
            if compact_piece(self, self.options.engine.batch_chunks):
                break
            with self._lock_released():
                pass
        rows = self.dead(time.time() - grace)
        _, live = self.counts()
        if rows and len(rows) >= share * (live + len(rows)):
            self.options.drop(self.meta(), rows)
            self.bury(rows)
            freed = max(freed, len(rows))
        return freed

    def _wasted(self, share: float) -> int:
        """How many rows of the text store are dead; 0 if that is a smaller share than this."""
        _, live = self.counts()
        wasted = self.text.row_count() - shared(self.db)
        return wasted if wasted > 0 and wasted >= share * (live + wasted) else 0


def _without_none(rows: Sequence[Row | None]) -> tuple[Row, ...]:
    return tuple(row for row in rows if row is not None)


def _split_evenly(entries: Sequence[Entry], parts: int) -> list[Sequence[Entry]]:
    ends = [len(entries) * part // parts for part in range(parts + 1)]
    return [entries[start:end] for start, end in pairwise(ends)]
