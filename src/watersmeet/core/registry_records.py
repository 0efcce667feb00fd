"""Interface between the engine and the store of registry records.

A record is the source of truth about an entity; the index documents of the entity are derived from it. Every change has
a version number, higher than that of all earlier changes to any record. So a writer cannot overwrite a version that it
has not read, and a process that derives data knows where to continue.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from watersmeet.core.entities import Entity

if TYPE_CHECKING:
    from watersmeet.core.vectors import Vector

COLLECTION = "registry"
"""The collection of registered entities, which say themselves who may see them."""


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


class RecordVersion(NamedTuple):
    """A record of a shared database without its content."""

    version: int
    registered: int  # sort key: when it was registered first


class EmbeddedEntity(NamedTuple):
    """An entity with the vector of its text, if there is one. `digest` changes when either does."""

    entity: Entity
    vector: Vector | None
    model: str
    digest: str


class SharedVectors(Protocol):
    """The vectors of entities in a shared database, one for each entity."""

    name: str

    def digests(self) -> dict[str, str]:
        """The digest of each entity's entry by path; empty for an entry that another program wrote."""
        ...

    def put(self, entries: Iterable[EmbeddedEntity]) -> None: ...
    def delete(self, paths: Collection[str]) -> None: ...
    def nearest(self, vector: Vector, kind: str, limit: int) -> dict[str, float]:
        """Paths of a kind with their cosines, best first: at least `limit`, if there are so many."""
        ...

    def fallback(self) -> str:
        """What is used instead of the vector search that is set, and why; empty if that works."""
        ...

    def statistics(self, public_only: bool = False) -> dict[str, Any]:
        """Counts of the collection: entities of each kind, those without a vector, and indexes."""
        ...


class SharedRecords(Records, Protocol):
    """Records in a database that other programs read and write too.

    A record may be one of another program, as it is: its key `entity_type` has its kind. Every call may raise
    `DatabaseProblem`.
    """

    poll_seconds: float

    @property
    def place(self) -> str:
        """Location for messages, without secrets."""
        ...

    def versions(self) -> dict[str, RecordVersion]:
        """All records by path."""
        ...

    def several(self, paths: Collection[str]) -> Iterator[tuple[str, Stored]]:
        """Those of these records that exist."""
        ...

    def published(self, dimension: int) -> SharedVectors | None:
        """Where vectors are written to; None if the settings do not ask for it."""
        ...

    def searched(self, dimension: int) -> SharedVectors | None:
        """The vectors that are searched in place of those of the index; None if the index is searched."""
        ...

    def wait(self, seconds: float, stop: Event) -> None:
        """Wait until records may have changed, at most so long, or until `stop` is set."""
        ...

    def close(self) -> None: ...
