"""Which entities mention which words: written with the document, from its own record."""

from __future__ import annotations

import sqlite3

from watersmeet.core.documents import Document

LARGEST = 1 << 62
"""SQLite's integers end a little beyond; an entity with so many tools has its places as text."""


def put(db: sqlite3.Connection, key: int, document: Document) -> None:
    """The words of an entity; of any other document there are none."""
    record = document.fields.get("record")
    if not isinstance(record, dict):
        return
    from watersmeet.core.boosts import mentions  # only where there is a registry
    from watersmeet.core.entities import KINDS, entity_of

    if document.kind not in KINDS:
        return
    _make(db)
    found = ((word, document.kind, key, encoded(places)) for word, places in mentions(entity_of(record)).items())
    db.executemany("INSERT INTO mentions VALUES (?, ?, ?, ?)", found)


def forget(db: sqlite3.Connection, key: int) -> None:
    if has_table(db):
        db.execute("DELETE FROM mentions WHERE document = ?", (key,))


def clear(db: sqlite3.Connection) -> None:
    if has_table(db):
        db.execute("DELETE FROM mentions")


def has_table(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'mentions'").fetchone())


def encoded(places: int) -> int | str:
    return places if places < LARGEST else f"{places:x}"


def decoded(places: int | str) -> int:
    return places if isinstance(places, int) else int(places, 16)


def _make(db: sqlite3.Connection) -> None:
    if has_table(db):
        return
    from watersmeet.store.local._schema import MENTIONS

    for statement in MENTIONS.split(";"):
        db.execute(statement)
