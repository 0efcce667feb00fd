"""A dictionary that spills to disk: only a limited number of entries stays in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, cast

Value = TypeVar("Value", str, bytes, int)

MAX_IN_MEMORY = 50_000
"""Entries in memory; the others go to a temporary file that is deleted when the process ends."""


class Spill(Generic[Value]):
    """A mapping from strings to strings, integers or bytes."""

    __slots__ = ("_db", "_max_in_memory", "_recent")

    def __init__(self, items: Iterable[tuple[str, Value]] = (), max_in_memory: int = MAX_IN_MEMORY) -> None:
        self._recent: dict[str, Value] = {}
        self._db: sqlite3.Connection | None = None
        self._max_in_memory = max_in_memory
        for key, value in items:
            self[key] = value

    def __setitem__(self, key: str, value: Value) -> None:
        self._recent[key] = value
        if len(self._recent) > self._max_in_memory:
            self._write()

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.items())

    def items(self) -> Iterator[tuple[str, Value]]:
        """All entries, unordered. Do not change the mapping meanwhile."""
        yield from self._recent.items()
        if self._db is not None:
            for key, value in self._db.execute("SELECT key, value FROM entries"):
                key = _text(key)
                if key not in self._recent:
                    yield key, value

    def get(self, key: str) -> Value | None:
        found = self._recent.get(key)
        if found is None and self._db is not None:
            row = self._db.execute("SELECT value FROM entries WHERE key = ?", (_bytes(key),)).fetchone()
            found = cast(Value, row[0]) if row else None
        return found

    def pop(self, key: str) -> Value | None:
        found = self.get(key)
        self._recent.pop(key, None)
        if self._db is not None:
            self._db.execute("DELETE FROM entries WHERE key = ?", (_bytes(key),))
        return found

    def _write(self) -> None:
        if self._db is None:
            self._db = sqlite3.connect("", isolation_level=None)
            self._db.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -8000;"
                "CREATE TABLE entries (key BLOB PRIMARY KEY, value) WITHOUT ROWID"
            )
        rows = sorted((_bytes(key), value) for key, value in self._recent.items())
        self._db.execute("BEGIN")
        self._db.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", rows)
        self._db.execute("COMMIT")
        self._recent.clear()


def _bytes(key: str) -> bytes:
    """Encoded key; ids may contain surrogates."""
    return key.encode("utf8", "surrogatepass")


def _text(key: bytes) -> str:
    return key.decode("utf8", "surrogatepass")
