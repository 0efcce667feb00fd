"""How many documents and chunks there are, and which rows no model has seen: kept up with each commit, never counted
by a query."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS
from watersmeet.store.local import _private_words

DOCUMENTS, CHUNKS, PRIVATE = "documents", "chunks", "private chunks"
KIND = "kind "
"""Before the name of a kind: how many documents are of it."""
UNSEEN, UNSEEN_PRIVATE = "unseen ", "unseen private "
"""Before the name of a vector store: how many live rows are not in it yet."""


class Counts:
    """The differences that one transaction makes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._by: Counter[str] = Counter()
        self.stores = stores(db)

    def removed(self, kind: str, rows: Sequence[int], gone: Iterable[int]) -> None:
        """A document with these rows; those that are `gone` no model has to read any more."""
        self._by.subtract(
            {DOCUMENTS: 1, KIND + kind: 1, CHUNKS: len(rows), PRIVATE: len(_private_words.private_rows(self._db, rows))}
        )
        for store in self.stores:
            self.mark_embedded(store, gone)

    def added(self, kind: str, rows: Sequence[int], private: bool, new: Collection[int]) -> None:
        self._by.update({DOCUMENTS: 1, KIND + kind: 1, CHUNKS: len(rows), PRIVATE: len(rows) if private else 0})
        for store in self.stores:
            values = [(store, row, private) for row in new]
            self._db.executemany("INSERT OR IGNORE INTO unseen VALUES (?, ?, ?)", values)
            self._by.update({UNSEEN + store: len(values), UNSEEN_PRIVATE + store: len(values) if private else 0})

    def mark_embedded(self, store: str, rows: Iterable[int]) -> None:
        """These rows are in a vector store now, or are wanted there no more."""
        listed = json.dumps(list(rows))
        which = "store = ? AND row IN (SELECT value FROM json_each(?))"
        count, private = self._db.execute(
            f"SELECT count(*), coalesce(sum(private), 0) FROM unseen WHERE {which}", (store, listed)
        ).fetchone()
        self._db.execute(f"DELETE FROM unseen WHERE {which}", (store, listed))
        self._by.subtract({UNSEEN + store: count, UNSEEN_PRIVATE + store: private})

    def save(self) -> None:
        self._db.executemany(
            "INSERT INTO counts VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2",
            [(name, by) for name, by in self._by.items() if by],
        )


def count(db: sqlite3.Connection, name: str) -> int:
    found = db.execute("SELECT value FROM counts WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found else 0


def shared(db: sqlite3.Connection) -> int:
    """How many live rows a text store must have."""
    return count(db, CHUNKS) - count(db, PRIVATE)


def stores(db: sqlite3.Connection) -> list[str]:
    """The folders of the vector stores that answer, and of those that are being made."""
    found = db.execute("SELECT value FROM meta WHERE key IN (?, ?)", (CURRENT_TIERS, NEXT_TIERS))
    return [tier["folder"] for (text,) in found for tier in json.loads(text).values()]


def recount(db: sqlite3.Connection) -> None:
    """All of it anew: for an index of an earlier version, or one that was repaired."""
    private = (
        "SELECT count(*) FROM withheld w JOIN chunks c ON c.row = w.row" if _private_words.has_table(db) else "SELECT 0"
    )
    db.execute("DELETE FROM counts")
    for name, sql in (
        (DOCUMENTS, "SELECT count(*) FROM documents"),
        (CHUNKS, "SELECT count(*) FROM chunks"),
        (PRIVATE, private),
    ):
        db.execute(f"INSERT INTO counts SELECT ?, ({sql})", (name,))
    db.execute("INSERT INTO counts SELECT ? || kind, count(*) FROM documents GROUP BY kind", (KIND,))
    for store in stores(db):
        _recount_unseen(db, store)


def expect(db: sqlite3.Connection, store: str) -> None:
    """A vector store that is to be filled: no live row is in it yet."""
    private = "c.row IN (SELECT row FROM withheld)" if _private_words.has_table(db) else "0"
    db.execute("DELETE FROM unseen WHERE store = ?", (store,))
    db.execute(f"INSERT INTO unseen SELECT ?, c.row, {private} FROM chunks c", (store,))
    _recount_unseen(db, store)


def mark_embedded(db: sqlite3.Connection, store: str, rows: Iterable[int]) -> None:
    """These rows are in a vector store now."""
    counts = Counts(db)
    counts.mark_embedded(store, rows)
    counts.save()


def sweep(db: sqlite3.Connection) -> None:
    """Forget what was expected of stores that are no longer part of the index."""
    known = stores(db)
    sql = "SELECT substr(name, ?) FROM counts WHERE name LIKE 'unseen %'"
    for (store,) in db.execute(sql, (len(UNSEEN) + 1,)).fetchall():
        if store not in known and not store.startswith("private "):
            db.execute("DELETE FROM unseen WHERE store = ?", (store,))
            db.execute("DELETE FROM counts WHERE name IN (?, ?)", (UNSEEN + store, UNSEEN_PRIVATE + store))


def _recount_unseen(db: sqlite3.Connection, store: str) -> None:
    for name, what in ((UNSEEN, "count(*)"), (UNSEEN_PRIVATE, "coalesce(sum(private), 0)")):
        db.execute(f"INSERT OR REPLACE INTO counts SELECT ?, {what} FROM unseen WHERE store = ?", (name + store, store))
