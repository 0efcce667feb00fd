"""The `mentions` table: words that each registry entity mentions, written with its document."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watersmeet.core.documents import Document


MAX_INTEGER = 1 << 62
"""SQLite's integers have 63 bits; an entity with more places than that stores them as hexadecimal text."""


def put(db: sqlite3.Connection, key: int, document: Document) -> None:
    """Stores the words of an entity; other documents have none."""
    record = document.fields.get("record")
    if not isinstance(record, dict):
        return
    from watersmeet.core.boosts import mentions  # loaded only for a registry
    from watersmeet.core.entities import TOOL, entity_of, is_entity

    if document.kind == TOOL or not is_entity(document.kind):
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
    return places if places < MAX_INTEGER else f"{places:x}"


def decoded(places: int | str) -> int:
    return places if isinstance(places, int) else int(places, 16)


def _make(db: sqlite3.Connection) -> None:
    if has_table(db):
        return
    from watersmeet.store.local._schema import MENTIONS

    for statement in MENTIONS.split(";"):
        db.execute(statement)
