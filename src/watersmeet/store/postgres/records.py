"""Registered records: versioned rows of a table that lasts over generations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from watersmeet.core.errors import VersionConflict
from watersmeet.core.names import is_text
from watersmeet.core.registry_records import RecordChange, Stored
from watersmeet.store._staged_records import StagedRecords

if TYPE_CHECKING:
    from watersmeet.store.postgres.pool import Db

_COLUMNS = "record::text, version, changed"


class PostgresRecords(StagedRecords):
    def __init__(self, db: Db, stage: Callable[[RecordChange], None]) -> None:
        super().__init__(stage)
        self._db = db

    def get(self, path: str) -> Stored | None:
        return stored(self._db, path)

    def __iter__(self) -> Iterator[Stored]:
        sql = f'SELECT {_COLUMNS} FROM records WHERE record IS NOT NULL ORDER BY path COLLATE "C"'
        return map(_read_back, self._db.execute(sql).fetchall())

    def _after(self, version: int, limit: int) -> list[tuple[str, bool, int]]:
        sql = "SELECT path, record IS NULL, version FROM records WHERE version > %s ORDER BY version LIMIT %s"
        return self._db.execute(sql, [version, limit]).fetchall()

    def _check(self, path: str, replaces: int | None) -> None:
        _check(self._db, path, replaces)

    def _last(self) -> int:
        return _last(self._db)


def stored(db: Db, path: str) -> Stored | None:
    if not is_text(path):
        return None
    found = db.execute(f"SELECT {_COLUMNS} FROM records WHERE path = %s AND record IS NOT NULL", [path]).fetchone()
    return _read_back(found) if found else None


def apply(db: Db, changes: Iterable[RecordChange]) -> None:
    """Apply all changes; raises `VersionConflict` if a record has changed since."""
    for change in changes:
        _check(db, change.path, change.replaces)
        if change.version <= _last(db):
            raise _conflict(change.path)
        text = None if change.record is None else json.dumps(change.record, ensure_ascii=False)
        db.execute(
            "INSERT INTO records VALUES (%s, %s, %s, %s) ON CONFLICT (path) DO UPDATE SET record = excluded.record,"
            " version = excluded.version, changed = excluded.changed",
            [change.path, text, change.version, time.time()],
        )


def take_over(db: Db, wanted: Iterable[Stored]) -> None:
    """Let these records replace all that are registered. A changed one has a higher version than any before."""
    held = {one.record["path"]: one for one in PostgresRecords(db, lambda _: None)}
    last, changes = _last(db), list[RecordChange]()
    for one in sorted(wanted, key=lambda stored: stored.version):
        path = one.record["path"]
        before = held.pop(path, None)
        if before is None or before.record != one.record:
            last = max(last + 1, one.version)
            changes.append(RecordChange(path, one.record, before.version if before else None, last))
    for path, before in held.items():
        last += 1
        changes.append(RecordChange(path, None, before.version, last))
    apply(db, changes)


def _read_back(row: tuple[str, int, float]) -> Stored:
    return Stored(json.loads(row[0]), row[1], row[2])


def _last(db: Db) -> int:
    return int(db.execute("SELECT coalesce(max(version), 0) FROM records").fetchall()[0][0])


def _check(db: Db, path: str, replaces: int | None) -> None:
    row = db.execute("SELECT version FROM records WHERE path = %s AND record IS NOT NULL", [path]).fetchone()
    if (row[0] if row else None) != replaces:
        raise _conflict(path)


def _conflict(path: str) -> VersionConflict:
    return VersionConflict(f"{path} was changed by another writer meanwhile", "read it again, then change it again")
