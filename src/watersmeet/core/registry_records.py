"""The seam between the engine and the place where what was registered is kept.

A record is the truth about an entity; the documents of the index that stand for it are derived from it. Every change
has a number, its version, which is higher than that of all changes before it, to whichever record. So nobody overwrites
what he has not read, and whoever derives something knows where to go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol


class Stored(NamedTuple):
    """A record as it was last put."""

    record: dict[str, Any]
    version: int
    changed: float  # seconds since the epoch


class ChangedRecord(NamedTuple):
    """The last change to what is, or was, registered under a path."""

    path: str
    deleted: bool


class RecordChange(NamedTuple):
    """A record to be put, or deleted if there is none, in place of the version that its author has read."""

    path: str
    record: Mapping[str, Any] | None
    replaces: int | None  # None: nothing is registered there
    version: int


class Records(Protocol):
    """What is registered, by path. Iterating gives all of it, by path."""

    def get(self, path: str) -> Stored | None: ...
    def put(self, record: Mapping[str, Any], version: int | None) -> int:
        """The record under its `path`, in place of this version, or where nothing is registered (None); its version.

        `VersionConflict` if there is another, now or when it is committed: then nothing of that commit is seen.
        """
        ...

    def delete(self, path: str, version: int) -> None:
        """`VersionConflict` if there is another, or none."""
        ...

    def changed_since(self, cursor: str, limit: int = 1000) -> tuple[list[ChangedRecord], str]:
        """What has changed, the oldest change first, each path once; and where to go on. "" is the beginning."""
        ...

    def __iter__(self) -> Iterator[Stored]: ...
