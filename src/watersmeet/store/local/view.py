"""The catalogue inside a read transaction: what is live, which rows a condition lets through, how many there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Row
from watersmeet.store.local import _conditions
from watersmeet.store.local._checksums import checked_meta, damage
from watersmeet.store.local._conditions import Sql, drivers, lowered, where
from watersmeet.store.local._connect import FORMAT, connect, guarded
from watersmeet.store.local._counts import CHUNKS, DOCUMENTS, KIND, PRIVATE, UNSEEN, UNSEEN_PRIVATE
from watersmeet.store.local._paths import Paths, paths_of

T = TypeVar("T")
SAMPLE = 256
"""So many rows show which share of all a condition lets through."""
FEW = 5_000
"""A condition that lets through no more documents is read from its own end."""
REREAD = "`watersmeet sync` reads it again"
MAX_CACHED_CHUNKS = 20_000
MAX_CACHED_CONDITIONS = 100
MAX_LISTED_ROWS = 250_000
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
        if (
            len(self.ids) > MAX_CACHED_CHUNKS
            or len(self.few) > MAX_CACHED_CONDITIONS
            or len(self.shares) > MAX_CACHED_CONDITIONS
        ):
            return True
        listed = [len(rows or ()) for rows in self.few.values()]
        return len(listed) > 1 and sum(listed) > MAX_LISTED_ROWS

    def add(self, found: Iterable[tuple[Row, ChunkId, int]]) -> None:
        for row, chunk, document in found:
            self.ids[row], self.owners[chunk] = chunk, document
            self.rows[chunk] = row  # last: whoever finds it finds the others


class CatalogueView:
    """Use it inside `with view.moment():`; threads of one query may share it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._db = connect(folder)
        self._paths: Paths | None = None
        self._lock = Lock()
        self.cache = SnapshotCache()
        self.damaged: dict[str, None] = {}
        """What was met in this moment that is not as it was written, and was left out: names of documents."""
        self.format = FORMAT
        self.version = -1
        """Changes whenever another connection has committed something."""

    def close(self) -> None:
        with self._lock:  # a signal that came too late for its query may still be reading: SQLite would crash
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Hold the catalogue still; what is committed meanwhile is not seen until the next moment."""
        self.query("BEGIN")
        try:
            self.query("SELECT 1 FROM meta LIMIT 1")  # a transaction begins with its first read
            version = self.query("PRAGMA data_version")[0][0]
            self.damaged = {}
            if version != self.version or self.cache.full:
                self.cache = SnapshotCache()
                self._paths = None
                self.format = self.query("PRAGMA user_version")[0][0]
            self.version = version
            yield self
        finally:
            self.query("COMMIT")

    def query(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        with self._lock, guarded(self._folder):
            return self._db.execute(sql, tuple(values)).fetchall()

    @property
    def paths(self) -> Paths:
        """How the catalogue's paths are to be understood: a writer may change what they are relative to."""
        if self._paths is None:
            with self._lock, guarded(self._folder):
                self._paths = paths_of(self._folder, self._db)
        return self._paths

    def meta(self) -> dict[str, str]:
        return checked_meta(dict(self.query("SELECT key, value FROM meta")), self._folder)

    def check(self) -> list[str]:
        """What is wrong with the file; nothing, usually."""
        with self._lock:
            return damage(self._db)

    def sound(self) -> None:
        """Raise if something was left out that is damaged."""
        if self.damaged:
            raise IndexDamaged(f"{self._folder}: the catalogue is damaged in {', '.join(self.damaged)}", REREAD)

    # ------------------------------------------------------------ rows and chunks

    def resolve(self, rows: Collection[Row], condition: Condition) -> dict[Row, ChunkId]:
        """The public ids of those rows that are live and satisfy the condition."""
        must, values = self.where(condition)
        known = self.cache
        ids = {} if must else {row: known.ids[row] for row in rows if row in known.ids}
        if len(ids) < len(rows):
            join = f"JOIN documents d ON d.id = c.document WHERE {must}" if must else ""
            found = self.query(
                f"SELECT c.row, c.id, c.document FROM json_each(?) j CROSS JOIN chunks c ON c.row = j.value {join}",
                [json.dumps([row for row in rows if row not in ids]), *values],
            )
            known.add(found)
            ids.update({row: chunk for row, chunk, _ in found})
        return ids

    def rows(self, ids: Collection[ChunkId]) -> dict[ChunkId, Row]:
        """The live row of each chunk that there is."""
        return self._each(ids, lambda known: known.rows)

    def owners_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, int]:
        return self._each(ids, lambda known: known.owners)

    def _each(self, ids: Collection[ChunkId], held: Callable[[SnapshotCache], dict[ChunkId, T]]) -> dict[ChunkId, T]:
        """What is known of each of these chunks, one way or another."""
        known = held(self.cache)
        try:
            return {chunk: known[chunk] for chunk in ids}
        except KeyError:  # one that was not asked for yet, or is not there
            known = held(self._met(ids))
            return {chunk: known[chunk] for chunk in ids if chunk in known}

    def _met(self, ids: Collection[ChunkId]) -> SnapshotCache:
        """What is known, with these chunks in it, as far as there are such."""
        known = self.cache
        others = [chunk for chunk in ids if chunk not in known.rows]
        if others:
            sql = "SELECT c.row, c.id, c.document FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            known.add(self.query(sql, [json.dumps(others)]))
        return known

    # ------------------------------------------------------------ conditions

    def where(self, condition: Condition, document: str = "d") -> Sql:
        return where(condition, self._choices(), document) if condition else Sql("", [])

    def _choices(self) -> _conditions.Known:
        known = self.cache
        if known.choices is None:
            kinds = [name.removeprefix(KIND) for name in self.counts() if name.startswith(KIND)]
            sql = "SELECT DISTINCT casefold(m.key) FROM collections k, json_each(k.metadata) m"
            known.choices = _conditions.Known(kinds, frozenset(key for (key,) in self.query(sql)))
        return known.choices

    def share(self, condition: Condition) -> float:
        """About which share of the rows a condition lets through."""
        known, key = self.cache, repr(condition)
        if key not in known.shares:
            if known.sample is None:
                known.sample = [row for (row,) in self.query("SELECT row FROM chunks ORDER BY id LIMIT ?", [SAMPLE])]
            passed = self.resolve(known.sample, condition)
            known.shares[key] = len(passed) / max(1, len(known.sample))
        return known.shares[key]

    def few(self, condition: Condition, most: int) -> list[Row] | None:
        """The rows that satisfy a condition, in ascending order; None if they may be more than so many."""
        known, key = self.cache.few, f"{most} {condition!r}"
        if key not in known:
            documents = self.few_documents(condition, most)
            known[key] = None if documents is None else self._rows_of(documents, condition, most)
        return known[key]

    def every(self, condition: Condition) -> list[Row]:
        """The same however many there are: only where nothing else finds enough."""
        known, key = self.cache.few, f"every {condition!r}"
        if key not in known:
            must, values = self.where(condition)
            sql = f"SELECT c.row FROM documents d JOIN chunks c ON c.document = d.id WHERE {must or 'true'}"
            known[key] = sorted(row for (row,) in self.query(sql, values))
        return known[key] or []

    def few_documents(self, condition: Condition, most: int = FEW) -> list[int] | None:
        """The documents of the part of a condition that fewest satisfy; None if no part is satisfied by few."""
        for sql, values in drivers(condition, self._choices()):
            found = self.query(f"{sql} LIMIT {most + 1}", values)
            if len(found) <= most:
                return [key for (key,) in found]
        return None

    def _rows_of(self, documents: Sequence[int], condition: Condition, most: int) -> list[Row] | None:
        must, values = self.where(condition)
        found = self.query(
            "SELECT DISTINCT c.row FROM json_each(?) j CROSS JOIN documents d ON d.id = j.value"
            f" CROSS JOIN chunks c ON c.document = d.id WHERE {must or 'true'} LIMIT ?",
            [json.dumps(documents), *values, most + 1],
        )
        return None if len(found) > most else sorted(row for (row,) in found)

    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Those of the gates that may keep anything out; without a registry, none."""
        return {key: allowed for key, allowed in gates.items() if self._keeps_out(key, allowed)}

    def _keeps_out(self, key: str, allowed: Sequence[str]) -> bool:
        """Whether any document has another value there. Values are many documents' each: one after the other is
        skipped, until one is not allowed."""
        gate, known = (key, *allowed), self.cache.needed
        if gate not in known:
            passing = set(json.loads(lowered(allowed)))
            sql = "SELECT min(value) FROM facets WHERE key = ? AND value > ?"
            value = self.query(sql, [key, ""])[0][0]
            while value in passing:
                value = self.query(sql, [key, value])[0][0]
            known[gate] = value is not None
        return known[gate]

    # ------------------------------------------------------------ how many

    def counts(self) -> dict[str, int]:
        """By the names of `_counts`; of an index of an earlier version they are counted."""
        known = self.cache
        if known.counts is None:
            if self.format >= COUNTED:
                known.counts = dict(self.query("SELECT name, value FROM counts"))
            else:
                known.counts = {
                    DOCUMENTS: self.query("SELECT count(*) FROM documents")[0][0],
                    CHUNKS: self.query("SELECT count(*) FROM chunks")[0][0],
                    PRIVATE: len(self.query("SELECT row FROM withheld")) if self.withholds() else 0,
                    **dict(self.query("SELECT ? || kind, count(*) FROM documents GROUP BY kind", [KIND])),
                }
        return known.counts

    def last_row(self) -> int:
        """The highest row there is; whatever is written next comes behind it."""
        found: int = self.query("SELECT coalesce(max(row), 0) FROM chunks")[0][0]
        return found

    def added_since(self, row: int, seen: Condition = ANY) -> int:
        """How many live rows are newer than this one."""
        must, values = self.where(seen)
        join = f"JOIN documents d ON d.id = c.document AND {must}" if must else ""
        found: int = self.query(f"SELECT count(*) FROM chunks c {join} WHERE c.row > ?", [*values, row])[0][0]
        return found

    def withholds(self) -> bool:
        """Whether the words of any row are kept here, and in no text store."""
        return bool(self.query("SELECT 1 FROM sqlite_master WHERE name = 'withheld'"))

    def shared(self) -> int:
        """How many live rows the text store must have."""
        counts = self.counts()
        return counts.get(CHUNKS, 0) - counts.get(PRIVATE, 0)

    def seen_share(self, store: str, held: int, seen: Condition = ANY) -> float:
        """The share of the rows that are in a vector store, which holds so many: of all, or of those for everyone."""
        counts = self.counts()
        hidden = counts.get(PRIVATE, 0) if seen else 0
        rows = counts.get(CHUNKS, 0) - hidden
        if rows <= 0:
            return 1.0
        if self.format < COUNTED:
            return min(1.0, held / counts[CHUNKS])
        missing = counts.get(UNSEEN + store, 0) - (counts.get(UNSEEN_PRIVATE + store, 0) if seen else 0)
        return 1 - missing / rows


COUNTED = 3
"""From this format on counts are kept."""
