"""Counts of documents and chunks, and the rows not embedded yet: updated by each commit, so that no query counts."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS
from watersmeet.store.local import _private_words

DOCUMENTS, CHUNKS, PRIVATE = "documents", "chunks", "private chunks"
KIND = "kind "
"""Prefix of a kind's name: the number of documents of that kind."""
UNSEEN, UNSEEN_PRIVATE = "unseen ", "unseen private "
"""Prefix of a vector store's name: the number of live rows not in it yet."""


class Counts:
    """The changes to the counts made by one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._deltas: Counter[str] = Counter()
        self.stores = stores(db)

    def removed(self, kind: str, rows: Sequence[int], gone: Iterable[int]) -> None:
        """Counts out a document with these rows; the rows in `gone` need no embedding any more."""
        self._deltas.subtract(
            {DOCUMENTS: 1, KIND + kind: 1, CHUNKS: len(rows), PRIVATE: len(_private_words.private_rows(self._db, rows))}
        )
        for store in self.stores:
            self.mark_embedded(store, gone)

    def added(self, kind: str, rows: Sequence[int], private: bool, new: Collection[int]) -> None:
        self._deltas.update({DOCUMENTS: 1, KIND + kind: 1, CHUNKS: len(rows), PRIVATE: len(rows) if private else 0})
        for store in self.stores:
            values = [(store, row, private) for row in new]
            self._db.executemany("INSERT OR IGNORE INTO unseen VALUES (?, ?, ?)", values)
            self._deltas.update({UNSEEN + store: len(values), UNSEEN_PRIVATE + store: len(values) if private else 0})

    def mark_embedded(self, store: str, rows: Iterable[int]) -> None:
        """Takes rows off the list of a vector store: they are in it now, or are dead."""
        listed = json.dumps(list(rows))
        which = "store = ? AND row IN (SELECT value FROM json_each(?))"
        count, private = self._db.execute(
            f"SELECT count(*), coalesce(sum(private), 0) FROM unseen WHERE {which}", (store, listed)
        ).fetchone()
        self._db.execute(f"DELETE FROM unseen WHERE {which}", (store, listed))
        self._deltas.subtract({UNSEEN + store: count, UNSEEN_PRIVATE + store: private})

    def save(self) -> None:
        self._db.executemany(
            "INSERT INTO counts VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2",
            [(name, delta) for name, delta in self._deltas.items() if delta],
        )


def count(db: sqlite3.Connection, name: str) -> int:
    found = db.execute("SELECT value FROM counts WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found else 0


def shared(db: sqlite3.Connection) -> int:
    """The number of live public rows, which the text store must have."""
    return count(db, CHUNKS) - count(db, PRIVATE)


def stores(db: sqlite3.Connection) -> list[str]:
    """Folders of the vector stores in use and of those being built."""
    found = db.execute("SELECT value FROM meta WHERE key IN (?, ?)", (CURRENT_TIERS, NEXT_TIERS))
    return [tier["folder"] for (text,) in found for tier in json.loads(text).values()]


def recount(db: sqlite3.Connection) -> None:
    """Recounts everything: after an upgrade or a repair."""
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
    """Registers an empty vector store: every live row is to be embedded."""
    private = "c.row IN (SELECT row FROM withheld)" if _private_words.has_table(db) else "0"
    db.execute("DELETE FROM unseen WHERE store = ?", (store,))
    db.execute(f"INSERT INTO unseen SELECT ?, c.row, {private} FROM chunks c", (store,))
    _recount_unseen(db, store)


def mark_embedded(db: sqlite3.Connection, store: str, rows: Iterable[int]) -> None:
    """Records that these rows are in a vector store now."""
    counts = Counts(db)
    counts.mark_embedded(store, rows)
    counts.save()


def sweep(db: sqlite3.Connection) -> None:
    """Deletes the counts and lists of vector stores no longer part of the index."""
    current_stores = stores(db)
    sql = "SELECT substr(name, ?) FROM counts WHERE name LIKE 'unseen %'"
    for (store,) in db.execute(sql, (len(UNSEEN) + 1,)).fetchall():
        if store not in current_stores and not store.startswith("private "):
            db.execute("DELETE FROM unseen WHERE store = ?", (store,))
            db.execute("DELETE FROM counts WHERE name IN (?, ?)", (UNSEEN + store, UNSEEN_PRIVATE + store))


def _recount_unseen(db: sqlite3.Connection, store: str) -> None:
    for name, what in ((UNSEEN, "count(*)"), (UNSEEN_PRIVATE, "coalesce(sum(private), 0)")):
        db.execute(f"INSERT OR REPLACE INTO counts SELECT ?, {what} FROM unseen WHERE store = ?", (name + store, store))
