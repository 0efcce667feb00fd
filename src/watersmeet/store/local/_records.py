"""The catalogue's table of registry records. Functions that write run inside a transaction."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from watersmeet.core.entities import ORIGIN, SOURCE, TOOL
from watersmeet.core.errors import IndexDamaged, VersionConflict
from watersmeet.core.names import is_text
from watersmeet.core.registry_records import RecordChange, Stored
from watersmeet.store._staged_records import following
from watersmeet.store.local._checksums import fields_are_sound, record_is_sound, record_sum, unsound_records

COLUMNS = "CAST(path AS BLOB), CAST(record AS BLOB), version, changed, sum"


def stored(db: sqlite3.Connection, path: str) -> Stored | None:
    if not is_text(path):
        return None
    sql = f"SELECT {COLUMNS} FROM records WHERE path = ? AND record IS NOT NULL"
    row = db.execute(sql, (path,)).fetchone()
    return read_back(row) if row else None


def apply(db: sqlite3.Connection, changes: Iterable[RecordChange]) -> None:
    """Applies all changes; raises `VersionConflict` if a record has changed since."""
    for change in changes:
        check(db, change.path, change.replaces)
        if change.version <= last(db):
            raise _conflict(change.path)
        write(db, change.path, change.record, change.version)


def adopt(db: sqlite3.Connection) -> None:
    """Creates missing records from registered documents: after an upgrade, or after damage."""
    for record in list(of_documents(db)):
        if stored(db, record["path"]) is None:
            write(db, record["path"], record, following(last(db)))


def repair(db: sqlite3.Connection) -> None:
    """Replaces damaged records by those in their documents; without such a document a record is deleted, and has to be
    registered again."""
    damaged = unsound_records(db)
    db.executemany("DELETE FROM records WHERE id = ?", [(key,) for key in damaged])
    if damaged:
        adopt(db)


def sound_records(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """All undamaged records, from the table or from their documents, as far as the tables can be read."""
    found: dict[str, dict[str, Any]] = {}
    for read in (of_documents, _of_table):
        with suppress(sqlite3.DatabaseError, ValueError):
            for record in read(db):
                found[record["path"]] = record
    return list(found.values())


def _of_table(db: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for row in db.execute(f"SELECT {COLUMNS} FROM records WHERE record IS NOT NULL ORDER BY id"):
        if record_is_sound(*row):
            yield read_back(row).record


def of_documents(db: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Undamaged records stored in registered documents."""
    sql = "SELECT hash, CAST(fields AS BLOB) FROM documents WHERE file IS NULL AND kind <> ? ORDER BY name"
    for hash, fields in db.execute(sql, (TOOL,)):
        record = record_of(fields) if fields_are_sound(hash, fields) else None
        if record:
            yield record


def record_of(fields: str | bytes) -> dict[str, Any] | None:
    """The record in the fields of a document, with its source entry."""
    found = json.loads(fields)
    record: dict[str, Any] | None = found.get("record")
    return {**record, **{key: found[key] for key in (SOURCE, ORIGIN) if key in found}} if record else record


def write(db: sqlite3.Connection, path: str, record: Mapping[str, Any] | None, version: int) -> None:
    """Stores a record. A deleted one (None) stays as a path with a version, so that other readers learn of it."""
    text = None if record is None else json.dumps(record, ensure_ascii=False)
    now = time.time()
    total = record_sum(path.encode(), None if text is None else text.encode(), version, now)
    db.execute(
        "INSERT INTO records (path, record, version, changed, sum) VALUES (?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT (path) DO UPDATE SET record = ?2, version = ?3, changed = ?4, sum = ?5",
        (path, text, version, now, total),
    )


def read_back(row: tuple[bytes, bytes, int, float, int]) -> Stored:
    path, text, version, changed, _ = row
    if not record_is_sound(*row):
        name = bytes(path).decode("utf8", "replace")
        hint = "run `watersmeet doctor`, then the same command again"
        raise IndexDamaged(f"the record of {name} is damaged", hint)
    return Stored(json.loads(text), version, changed)


def last(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(max(version), 0) FROM records").fetchone()[0])


def check(db: sqlite3.Connection, path: str, replaces: int | None) -> None:
    row = db.execute("SELECT version FROM records WHERE path = ? AND record IS NOT NULL", (path,)).fetchone()
    if (row[0] if row else None) != replaces:
        raise _conflict(path)


def _conflict(path: str) -> VersionConflict:
    return VersionConflict(f"{path} was changed by another writer meanwhile", "read it again, then change it again")
