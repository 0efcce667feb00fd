"""Registered records: versioned rows of a table that lasts over generations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, VersionConflict
from watersmeet.core.names import is_text
from watersmeet.core.registry_records import ChangedRecord, RecordChange, Stored

if TYPE_CHECKING:
    from watersmeet.store.postgres.pool import Db

_COLUMNS = "record::text, version, changed"


class PostgresRecords:
    """For the holder of the writer's lease. `stage` collects changes, to be committed with their documents."""

    def __init__(self, db: Callable[[], Db], stage: Callable[[RecordChange], None]) -> None:
        self._db, self._stage, self._last = db, stage, 0

    def get(self, path: str) -> Stored | None:
        return stored(self._db(), path)

    def put(self, record: Mapping[str, Any], version: int | None) -> int:
        return self._change(record["path"], record, version)

    def delete(self, path: str, version: int) -> None:
        self._change(path, None, version)

    def changed_since(self, cursor: str, limit: int = 1000) -> tuple[list[ChangedRecord], str]:
        if cursor and not cursor.isdecimal():
            raise ConfigError(f"{cursor!r} is not a cursor of this registry", "begin again without one")
        sql = "SELECT path, record IS NULL, version FROM records WHERE version > %s ORDER BY version LIMIT %s"
        found = self._db().execute(sql, [int(cursor or 0), limit]).fetchall()
        changes = [ChangedRecord(path, deleted) for path, deleted, _ in found]
        return changes, str(found[-1][2]) if found else cursor

    def __iter__(self) -> Iterator[Stored]:
        sql = f'SELECT {_COLUMNS} FROM records WHERE record IS NOT NULL ORDER BY path COLLATE "C"'
        return map(_read_back, self._db().execute(sql).fetchall())

    def _change(self, path: str, record: Mapping[str, Any] | None, replaces: int | None) -> int:
        db = self._db()
        _check(db, path, replaces)
        self._last = max(self._last, _last(db), time.time_ns() // 1_000_000 - 1) + 1
        self._stage(RecordChange(path, record, replaces, self._last))
        return self._last


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
