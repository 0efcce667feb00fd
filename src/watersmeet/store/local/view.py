"""The catalogue in a read transaction: live rows, rows that satisfy a condition, counts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.store.local import _conditions
from watersmeet.store.local._checksums import checked_meta, damage
from watersmeet.store.local._conditions import Sql, drivers, lowered, where
from watersmeet.store.local._connect import FORMAT, connect, sqlite_errors
from watersmeet.store.local._counts import CHUNKS, DOCUMENTS, KIND, PRIVATE, UNSEEN, UNSEEN_PRIVATE
from watersmeet.store.local._paths import Paths, paths_of

T = TypeVar("T")
SAMPLE_ROWS = 256
"""Sample size for estimating the share of rows that satisfy a condition."""
FEW_DOCUMENTS = 5_000
"""A condition that at most so many documents satisfy is resolved by listing these."""
RARE_SHARE = 0.05
"""If a smaller share of the rows passes, the matching rows are listed first, if they are few."""
REREAD_HINT = "`watersmeet sync` reads it again"
MAX_CACHED_CHUNKS = 20_000
MAX_CACHED_CONDITIONS = 100
MAX_LISTED_ROWS = 250_000
MAX_CACHED_PASSAGES = 512
"""Limits of the cache, so that ever new ids or conditions do not fill the memory."""


class SnapshotCache:
    """The cache of one snapshot: chunk ids, rows, documents, names, and the rows that conditions allow.

    Valid until something is committed. It is replaced then, not cleared: a late signal fills a cache that is no longer
    read.
    """

    def __init__(self) -> None:
        self.ids: dict[Row, ChunkId] = {}
        self.rows: dict[ChunkId, Row] = {}
        self.owners: dict[ChunkId, int] = {}
        self.names: dict[int, DocId] = {}
        self.name_words: dict[DocId, frozenset[str]] = {}
        self.passages: dict[ChunkId, Passage] = {}
        self.few: dict[str, tuple[int, list[Row] | None]] = {}
        self.every: dict[str, list[Row]] = {}
        self.shares: dict[str, float] = {}
        self.sample: list[Row] | None = None
        self.needed: dict[tuple[str, ...], bool] = {}
        self.counts: dict[str, int] | None = None
        self.filter_schema: _conditions.FilterSchema | None = None

    @property
    def full(self) -> bool:
        if (
            len(self.ids) > MAX_CACHED_CHUNKS
            or len(self.few) + len(self.every) > MAX_CACHED_CONDITIONS
            or len(self.shares) > MAX_CACHED_CONDITIONS
        ):
            return True
        listed = [len(rows or ()) for _, rows in self.few.values()] + [len(rows) for rows in self.every.values()]
        return len(listed) > 1 and sum(listed) > MAX_LISTED_ROWS

    def add(self, found: Iterable[tuple[Row, ChunkId, int]]) -> None:
        for row, chunk, document in found:
            self.ids[row], self.owners[chunk] = chunk, document
            self.rows[chunk] = row  # last: a thread that finds it finds the others too

    def add_passages(self, found: Mapping[ChunkId, Passage]) -> None:
        """Keeps what one query reads several times; many at once are read by something else than a query."""
        if len(found) <= MAX_CACHED_PASSAGES // 2:
            if len(self.passages) + len(found) > MAX_CACHED_PASSAGES:
                self.passages = {}
            self.passages.update(found)


class CatalogueView:
    """A reader of the catalogue, used inside `with view.transaction():`; threads of one query may share it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._db = connect(folder)
        self._paths: Paths | None = None
        self._lock = Lock()
        self.cache = SnapshotCache()
        self.damaged: dict[str, None] = {}
        self.incomplete: dict[str, None] = {}
        """Names of damaged documents that were left out in this transaction."""
        self.format = FORMAT
        self.version = -1
        """Changes whenever another connection has committed something."""

    def close(self) -> None:
        with self._lock:  # a late signal may still be reading: SQLite would crash
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A read transaction: later commits are not visible until the next one."""
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
        with self._lock, sqlite_errors(self._folder):
            return self._db.execute(sql, tuple(values)).fetchall()

    def pages(self, sql: str, size: int) -> Iterator[list[Any]]:
        """The rows of a query, `size` at a time; for one reader, since the cursor stays open in between."""
        with self._lock, sqlite_errors(self._folder):
            cursor = self._db.execute(sql)
        while True:
            with self._lock, sqlite_errors(self._folder):
                rows = cursor.fetchmany(size)
            if not rows:
                return
            yield rows

    def with_connection(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """The result of a function that reads the catalogue in this transaction."""
        with self._lock, sqlite_errors(self._folder):
            return read(self._db)

    @property
    def folder(self) -> str:
        return self._folder

    @property
    def paths(self) -> Paths:
        """The path conversion; read for each snapshot, since a writer may change the base folder."""
        if self._paths is None:
            with self._lock, sqlite_errors(self._folder):
                self._paths = paths_of(self._folder, self._db)
        return self._paths

    def meta(self) -> dict[str, str]:
        return checked_meta(dict(self.query("SELECT key, value FROM meta")), self._folder)

    def check(self) -> list[str]:
        """Damage found in the catalogue."""
        with self._lock:
            return damage(self._db)

    def sound(self) -> None:
        """Raises if a damaged document was left out."""
        if self.damaged:
            raise IndexDamaged(f"{self._folder}: the catalogue is damaged in {', '.join(self.damaged)}", REREAD_HINT)

    # ------------------------------------------------------------ rows and chunks

    def resolve(self, rows: Collection[Row], condition: Condition) -> dict[Row, ChunkId]:
        """The chunk ids of those of these rows that are live and satisfy the condition."""
        must, values = self.where(condition)
        cache = self.cache
        ids = {} if must else {row: cache.ids[row] for row in rows if row in cache.ids}
        if len(ids) < len(rows):
            join = f"JOIN documents d ON d.id = c.document WHERE {must}" if must else ""
            found = self.query(
                f"SELECT c.row, c.id, c.document FROM json_each(?) j CROSS JOIN chunks c ON c.row = j.value {join}",
                [json.dumps([row for row in rows if row not in ids]), *values],
            )
            cache.add(found)
            ids.update({row: chunk for row, chunk, _ in found})
        return ids

    def rows(self, ids: Collection[ChunkId]) -> dict[ChunkId, Row]:
        """The live row of each of these chunks that exists."""
        return self._each(ids, lambda cache: cache.rows)

    def owners_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, int]:
        return self._each(ids, lambda cache: cache.owners)

    def _each(
        self, ids: Collection[ChunkId], entries_of: Callable[[SnapshotCache], dict[ChunkId, T]]
    ) -> dict[ChunkId, T]:
        """A cached property of each of these chunks, loaded if missing."""
        entries = entries_of(self.cache)
        try:
            return {chunk: entries[chunk] for chunk in ids}
        except KeyError:  # not cached, or no such chunk
            entries = entries_of(self._load(ids))
            return {chunk: entries[chunk] for chunk in ids if chunk in entries}

    def _load(self, ids: Collection[ChunkId]) -> SnapshotCache:
        """The cache, after loading those of these chunks that exist."""
        cache = self.cache
        missing = [chunk for chunk in ids if chunk not in cache.rows]
        if missing:
            sql = "SELECT c.row, c.id, c.document FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            cache.add(self.query(sql, [json.dumps(missing)]))
        return cache

    # ------------------------------------------------------------ conditions

    def where(self, condition: Condition, document: str = "d") -> Sql:
        return where(condition, self._filter_schema(), document) if condition else Sql("", [])

    def _filter_schema(self) -> _conditions.FilterSchema:
        cache = self.cache
        if cache.filter_schema is None:
            kinds = [name.removeprefix(KIND) for name in self.counts() if name.startswith(KIND)]
            sql = "SELECT DISTINCT casefold(m.key) FROM collections k, json_each(k.metadata) m"
            cache.filter_schema = _conditions.FilterSchema(kinds, frozenset(key for (key,) in self.query(sql)))
        return cache.filter_schema

    def share(self, condition: Condition) -> float:
        """The estimated share of rows that satisfy a condition."""
        cache, key = self.cache, repr(condition)
        if key not in cache.shares:
            if cache.sample is None:
                cache.sample = [
                    row for (row,) in self.query("SELECT row FROM chunks ORDER BY id LIMIT ?", [SAMPLE_ROWS])
                ]
            passed = self.resolve(cache.sample, condition)
            cache.shares[key] = len(passed) / max(1, len(cache.sample))
        return cache.shares[key]

    def few(self, condition: Condition, limit: int) -> list[Row] | None:
        """The rows that satisfy a condition, ascending; None if they may be more than `limit`."""
        cached, key = self.cache.few, repr(condition)
        tried, rows = cached.get(key, (0, None))
        if rows is None and tried < limit:
            documents = self.few_documents(condition, limit)
            rows = None if documents is None else self._rows_of(documents, condition, limit)
            cached[key] = limit, rows
        return rows if rows is not None and len(rows) <= limit else None

    def every(self, condition: Condition) -> list[Row]:
        """All rows that satisfy a condition, however many; used only if fetching hits does not find enough."""
        cached, key = self.cache.every, repr(condition)
        if key not in cached:
            must, values = self.where(condition)
            sql = f"SELECT c.row FROM documents d JOIN chunks c ON c.document = d.id WHERE {must or 'true'}"
            cached[key] = sorted(row for (row,) in self.query(sql, values))
        return cached[key]

    def few_documents(self, condition: Condition, limit: int = FEW_DOCUMENTS) -> list[int] | None:
        """The documents of the first part of a condition that at most `limit` satisfy; None if no part is so rare."""
        for sql, values in drivers(condition, self._filter_schema()):
            found = self.query(f"{sql} LIMIT {limit + 1}", values)
            if len(found) <= limit:
                return [key for (key,) in found]
        return None

    def _rows_of(self, documents: Sequence[int], condition: Condition, limit: int) -> list[Row] | None:
        must, values = self.where(condition)
        found = self.query(
            "SELECT DISTINCT c.row FROM json_each(?) j CROSS JOIN documents d ON d.id = j.value"
            f" CROSS JOIN chunks c ON c.document = d.id WHERE {must or 'true'} LIMIT ?",
            [json.dumps(documents), *values, limit + 1],
        )
        return None if len(found) > limit else sorted(row for (row,) in found)

    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Those of the gates that hide any document; none without a registry."""
        return {key: allowed for key, allowed in gates.items() if self._excludes_any(key, allowed)}

    def _excludes_any(self, key: str, allowed: Sequence[str]) -> bool:
        """Whether any document has a value of `key` that is not allowed. Steps through distinct values, since each may
        have many documents."""
        gate, cached = (key, *allowed), self.cache.needed
        if gate not in cached:
            passing = set(json.loads(lowered(allowed)))
            sql = "SELECT min(value) FROM facets WHERE key = ? AND value > ?"
            value = self.query(sql, [key, ""])[0][0]
            while value in passing:
                value = self.query(sql, [key, value])[0][0]
            cached[gate] = value is not None
        return cached[gate]

    # ------------------------------------------------------------ counts

    def counts(self) -> dict[str, int]:
        """Counts by the names in `_counts`; computed for an index of an earlier version."""
        cache = self.cache
        if cache.counts is None:
            if self.format >= FORMAT_WITH_COUNTS:
                cache.counts = dict(self.query("SELECT name, value FROM counts"))
            else:
                cache.counts = {
                    DOCUMENTS: self.query("SELECT count(*) FROM documents")[0][0],
                    CHUNKS: self.query("SELECT count(*) FROM chunks")[0][0],
                    PRIVATE: len(self.query("SELECT row FROM withheld")) if self.has_private_words() else 0,
                    **dict(self.query("SELECT ? || kind, count(*) FROM documents GROUP BY kind", [KIND])),
                }
        return cache.counts

    def last_row(self) -> int:
        """The highest live row; rows written later are higher."""
        found: int = self.query("SELECT coalesce(max(row), 0) FROM chunks")[0][0]
        return found

    def added_since(self, row: int, visible: Condition = ANY) -> int:
        """The number of live rows newer than this one."""
        must, values = self.where(visible)
        join = f"JOIN documents d ON d.id = c.document AND {must}" if must else ""
        found: int = self.query(f"SELECT count(*) FROM chunks c {join} WHERE c.row > ?", [*values, row])[0][0]
        return found

    def has_private_words(self) -> bool:
        """Whether the catalogue has words of private rows."""
        return bool(self.query("SELECT 1 FROM sqlite_master WHERE name = 'withheld'"))

    def shared(self) -> int:
        """The number of live public rows, which the text store must have."""
        counts = self.counts()
        return counts.get(CHUNKS, 0) - counts.get(PRIVATE, 0)

    def embedded_share(self, store: str, row_count: int, visible: Condition = ANY) -> float:
        """The share of rows (public ones if `visible`) in a vector store. `row_count`: its size, for older formats."""
        counts = self.counts()
        hidden = counts.get(PRIVATE, 0) if visible else 0
        rows = counts.get(CHUNKS, 0) - hidden
        if rows <= 0:
            return 1.0
        if self.format < FORMAT_WITH_COUNTS:
            return min(1.0, row_count / counts[CHUNKS])
        missing = counts.get(UNSEEN + store, 0) - (counts.get(UNSEEN_PRIVATE + store, 0) if visible else 0)
        return 1 - missing / rows


FORMAT_WITH_COUNTS = 3
"""The first format with a `counts` table."""
