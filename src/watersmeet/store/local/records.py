"""The `Records` port as a table of the catalogue: a record and its documents change in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.core.registry_records import ChangedRecord, RecordChange, Stored
from watersmeet.core.writing import Changes
from watersmeet.store.local._records import COLUMNS, check, following, last, read_back, stored
from watersmeet.store.local.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Local:
    """The choice of no shared database: records are in the index alone."""


class LocalRecords:
    """Registry records, for the holder of the writer lock.

    `stage` collects changes to be committed with their documents; without it each change is committed at once.
    """

    def __init__(self, catalogue: Catalogue, stage: Callable[[RecordChange], None] | None = None) -> None:
        self._catalogue = catalogue
        self._stage = stage or (lambda change: catalogue.apply(Changes(records=[change])))
        self._last = 0

    def get(self, path: str) -> Stored | None:
        return stored(self._catalogue.db, path)

    def put(self, record: Mapping[str, Any], version: int | None) -> int:
        return self._change(record["path"], record, version)

    def delete(self, path: str, version: int) -> None:
        self._change(path, None, version)

    def changed_since(self, cursor: str, limit: int = 1000) -> tuple[list[ChangedRecord], str]:
        if cursor and not cursor.isdecimal():
            raise ConfigError(f"{cursor!r} is not a cursor of this registry", "begin again without one")
        sql = "SELECT path, record IS NULL, version FROM records WHERE version > ? ORDER BY version LIMIT ?"
        found = self._catalogue.db.execute(sql, (int(cursor or 0), limit)).fetchall()
        changes = [ChangedRecord(path, bool(deleted)) for path, deleted, _ in found]
        return changes, str(found[-1][2]) if found else cursor

    def __iter__(self) -> Iterator[Stored]:
        rows = self._catalogue.db.execute(f"SELECT {COLUMNS} FROM records WHERE record IS NOT NULL ORDER BY path")
        return map(read_back, rows.fetchall())

    def _change(self, path: str, record: Mapping[str, Any] | None, replaces: int | None) -> int:
        check(self._catalogue.db, path, replaces)
        self._last = following(max(self._last, last(self._catalogue.db)))
        self._stage(RecordChange(path, record, replaces, self._last))
        return self._last
