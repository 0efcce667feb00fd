"""Interface between the engine and the store of registry records.

A record is the source of truth about an entity; the index documents of the entity are derived from it. Every change has
a version number, higher than that of all earlier changes to any record. So a writer cannot overwrite a version that it
has not read, and a process that derives data knows where to continue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol


class Stored(NamedTuple):
    """The stored version of a record."""

    record: dict[str, Any]
    version: int
    changed: float  # seconds since the epoch


class ChangedRecord(NamedTuple):
    """The last change to the record of a path."""

    path: str
    deleted: bool


class RecordChange(NamedTuple):
    """A record to write, or to delete if None, in place of the version that its author has read."""

    path: str
    record: Mapping[str, Any] | None
    replaces: int | None  # None: no record exists there
    version: int


class Records(Protocol):
    """Registry records by path. Iterating gives all, ordered by path."""

    def get(self, path: str) -> Stored | None: ...
    def put(self, record: Mapping[str, Any], version: int | None) -> int:
        """Write a record under its `path`, replacing this version, or as a new record (None); returns its version.

        `VersionConflict` if the stored version differs, now or at commit: then nothing of that commit is visible.
        """
        ...

    def delete(self, path: str, version: int) -> None:
        """Delete a record; `VersionConflict` if the stored version differs or there is none."""
        ...

    def changed_since(self, cursor: str, limit: int = 1000) -> tuple[list[ChangedRecord], str]:
        """Changes after a cursor, oldest first, each path once, and the next cursor. "" is the beginning."""
        ...

    def __iter__(self) -> Iterator[Stored]: ...
