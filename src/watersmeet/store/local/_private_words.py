"""Words of private rows: kept in the catalogue, and in no text store.

So the statistics of a text store (rows, words, lengths) cover public rows only, and liveness is decided in one place.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping

from watersmeet.core.model import Row
from watersmeet.core.visibility import AUDIENCE_GATE, PUBLIC
from watersmeet.store.local._text import FIELDS

Words = Mapping[str, Mapping[str, int]]
"""Word counts of a row by field; words are analysed as the text store does."""

PUBLIC_TEXT = "public_text"
"""The `meta` key that names a text store which never held a word of a private row."""

_TABLES = (
    "CREATE TABLE withheld (row INTEGER PRIMARY KEY, " + ", ".join(f"{name} INTEGER NOT NULL" for name in FIELDS) + ")",
    "CREATE TABLE withheld_words (field TEXT NOT NULL, word TEXT NOT NULL, row INTEGER NOT NULL,"
    " count INTEGER NOT NULL, PRIMARY KEY (field, word, row)) WITHOUT ROWID",
    "CREATE INDEX withheld_words_of_row ON withheld_words (row)",
)
"""Tables of field lengths and words, created with the first private row."""


def analysed(fields: Mapping[str, str], analyse: Callable[[str, str], str]) -> Words:
    """Counts of the analysed words of a row's fields, without stop words."""
    return {name: Counter(filter(None, (analyse(name, one) for one in text.split()))) for name, text in fields.items()}


def put(db: sqlite3.Connection, rows: Mapping[Row, Words]) -> None:
    if rows and not has_table(db):
        create(db)
    for row, words in rows.items():
        lengths = [sum(words.get(name, {}).values()) for name in FIELDS]
        db.execute(f"INSERT OR REPLACE INTO withheld VALUES (?{', ?' * len(FIELDS)})", (row, *lengths))
        db.executemany(
            "INSERT OR REPLACE INTO withheld_words VALUES (?, ?, ?, ?)",
            [(name, word, row, count) for name, counts in words.items() for word, count in counts.items()],
        )


def create(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)


def forget(db: sqlite3.Connection, rows: Collection[int]) -> None:
    if has_table(db):
        for table in ("withheld", "withheld_words"):
            db.executemany(f"DELETE FROM {table} WHERE row = ?", [(row,) for row in rows])


def clear(db: sqlite3.Connection) -> None:
    if has_table(db):
        for table in ("withheld", "withheld_words"):
            db.execute(f"DELETE FROM {table}")


def has_table(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'withheld'").fetchone())


def private_rows(db: sqlite3.Connection, rows: Collection[int]) -> set[int]:
    """Those of these rows that are private."""
    if not has_table(db):
        return set()
    found = db.execute("SELECT w.row FROM json_each(?) j JOIN withheld w ON w.row = j.value", (json.dumps(list(rows)),))
    return {row for (row,) in found}


def private(db: sqlite3.Connection) -> set[str]:
    """Names of the documents that not everyone may see."""
    found = db.execute(
        "SELECT d.name FROM documents d WHERE d.id IN (SELECT document FROM facets WHERE key = ?1)"
        " AND d.id NOT IN (SELECT document FROM facets WHERE key = ?1 AND value = ?2)",
        (AUDIENCE_GATE, PUBLIC),
    )
    return {name for (name,) in found}
