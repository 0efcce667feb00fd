"""The catalogue's table of what is registered: inside a transaction where it is written."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from watersmeet.core.entities import SOURCE, TOOL
from watersmeet.core.errors import IndexDamaged, VersionConflict
from watersmeet.core.names import is_text
from watersmeet.core.registry_records import RecordChange, Stored
from watersmeet.store.local._checksums import fields_are_sound, record_is_sound, record_sum, unsound_records

COLUMNS = "CAST(path AS BLOB), CAST(record AS BLOB), version, changed, sum"


def stored(db: sqlite3.Connection, path: str) -> Stored | None:
    if not is_text(path):
        return None
    sql = f"SELECT {COLUMNS} FROM records WHERE path = ? AND record IS NOT NULL"
    row = db.execute(sql, (path,)).fetchone()
    return read_back(row) if row else None


def apply(db: sqlite3.Connection, changes: Iterable[RecordChange]) -> None:
    """All of them, or `VersionConflict`."""
    for change in changes:
        check(db, change.path, change.replaces)
        if change.version <= last(db):
            raise _conflict(change.path)
        write(db, change.path, change.record, change.version)


def adopt(db: sqlite3.Connection) -> None:
    """The records of registered documents that have none: those of an earlier version, or lost by damage."""
    for record in list(of_documents(db)):
        if stored(db, record["path"]) is None:
            write(db, record["path"], record, following(last(db)))


def mend(db: sqlite3.Connection) -> None:
    """Records that are not as they were written are replaced by what their documents say; or they go, and have to be
    registered again."""
    damaged = unsound_records(db)
    db.executemany("DELETE FROM records WHERE id = ?", [(key,) for key in damaged])
    if damaged:
        adopt(db)


def sound(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """All that is registered and is as it was written, be it in the records or in the documents of them; of tables
    that can be read only in part, that part."""
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
    """The records in registered documents that are as they were written."""
    sql = "SELECT hash, CAST(fields AS BLOB) FROM documents WHERE file IS NULL AND kind <> ? ORDER BY name"
    for hash, fields in db.execute(sql, (TOOL,)):
        record = record_of(fields) if fields_are_sound(hash, fields) else None
        if record:
            yield record


def record_of(fields: str | bytes) -> dict[str, Any] | None:
    """The record in the fields of a document, with what its source says otherwise."""
    found = json.loads(fields)
    record: dict[str, Any] | None = found.get("record")
    return {**record, SOURCE: found[SOURCE]} if record and SOURCE in found else record


def write(db: sqlite3.Connection, path: str, record: Mapping[str, Any] | None, version: int) -> None:
    """A deleted one stays as a path with a version, so that others hear of it."""
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
        raise IndexDamaged(f"the record of {name} is not as it was written", hint)
    return Stored(json.loads(text), version, changed)


def last(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(max(version), 0) FROM records").fetchone()[0])


def following(last: int) -> int:
    """Behind all that were, also if they were lost with their catalogue: it does not fall behind the clock."""
    return max(last + 1, time.time_ns() // 1_000_000)


def check(db: sqlite3.Connection, path: str, replaces: int | None) -> None:
    row = db.execute("SELECT version FROM records WHERE path = ? AND record IS NOT NULL", (path,)).fetchone()
    if (row[0] if row else None) != replaces:
        raise _conflict(path)


def _conflict(path: str) -> VersionConflict:
    return VersionConflict(f"{path} was changed by somebody else meanwhile", "read it again, then change it again")
