"""What the `Records` of every store have in common: versions that grow, changes that are staged, cursors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.core.registry_records import ChangedRecord, RecordChange


class StagedRecords:
    """Registry records, for the holder of the writer's lease. `stage` collects changes, to be committed with their
    documents."""

    def __init__(self, stage: Callable[[RecordChange], object]) -> None:
        self._stage, self._staged = stage, 0

    def put(self, record: Mapping[str, Any], version: int | None) -> int:
        return self._change(record["path"], record, version)

    def delete(self, path: str, version: int) -> None:
        self._change(path, None, version)

    def changed_since(self, cursor: str, limit: int = 1000) -> tuple[list[ChangedRecord], str]:
        if cursor and not cursor.isdecimal():
            raise ConfigError(f"{cursor!r} is not a cursor of this registry", "begin again without one")
        found = self._after(int(cursor or 0), limit)
        return [ChangedRecord(path, bool(gone)) for path, gone, _ in found], str(found[-1][2]) if found else cursor

    def _change(self, path: str, record: Mapping[str, Any] | None, replaces: int | None) -> int:
        self._check(path, replaces)
        self._staged = following(max(self._staged, self._last()))
        self._stage(RecordChange(path, record, replaces, self._staged))
        return self._staged

    def _after(self, version: int, limit: int) -> list[tuple[str, bool, int]]:
        """Path, whether it is deleted, and version of later changes, oldest first."""
        raise NotImplementedError

    def _check(self, path: str, replaces: int | None) -> None:
        """Raise `VersionConflict` if another version is stored."""
        raise NotImplementedError

    def _last(self) -> int:
        """The highest version that is stored."""
        raise NotImplementedError


def following(last: int) -> int:
    """The next version: above all before, and not behind the clock, so that it exceeds those of a lost catalogue."""
    return max(last + 1, time.time_ns() // 1_000_000)
