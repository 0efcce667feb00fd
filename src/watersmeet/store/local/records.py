"""The `Records` port as a table of the catalogue: a record and its documents change in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.registry_records import RecordChange, Stored
from watersmeet.core.writing import Changes
from watersmeet.store._staged_records import StagedRecords
from watersmeet.store.local._records import COLUMNS, check, last, read_back, stored
from watersmeet.store.local.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Local:
    """The choice of no shared database: records are in the index alone."""


class LocalRecords(StagedRecords):
    """Without `stage` each change is committed at once."""

    def __init__(self, catalogue: Catalogue, stage: Callable[[RecordChange], None] | None = None) -> None:
        super().__init__(stage or (lambda change: catalogue.apply(Changes(records=[change]))))
        self._catalogue = catalogue

    def get(self, path: str) -> Stored | None:
        return stored(self._catalogue.db, path)

    def __iter__(self) -> Iterator[Stored]:
        rows = self._catalogue.db.execute(f"SELECT {COLUMNS} FROM records WHERE record IS NOT NULL ORDER BY path")
        return map(read_back, rows.fetchall())

    def _after(self, version: int, limit: int) -> list[tuple[str, bool, int]]:
        sql = "SELECT path, record IS NULL, version FROM records WHERE version > ? ORDER BY version LIMIT ?"
        return self._catalogue.db.execute(sql, (version, limit)).fetchall()

    def _check(self, path: str, replaces: int | None) -> None:
        check(self._catalogue.db, path, replaces)

    def _last(self) -> int:
        return last(self._catalogue.db)
