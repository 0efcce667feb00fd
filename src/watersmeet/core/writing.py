"""The seam between the engine and the place where an index is kept, as seen by whoever writes.

A writer holds a lease. It collects `Changes` and commits them: all of them are seen, or nothing. Row numbers, and how
words are kept, are the store's own. Between two commits a writer may let others have a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.core.model import DocId, Row
from watersmeet.core.place import Place
from watersmeet.core.registry_records import RecordChange, Records
from watersmeet.core.text_fields import Prepared


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write, until it expires. The fence grows with every lease of a name: whoever has an older one has
    lost it, and commits nothing."""

    name: str
    holder: str
    expires: float
    fence: int


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was last read."""

    id: int
    name: str
    stamp: str  # empty: it is to be read again
    hash: bytes
    seen: int  # ns since the epoch, before the file was read; negative if it is to be read again


@dataclass(frozen=True, slots=True)
class Root:
    """A folder, file or address that is covered. `prefix` stands in front of the ids of its documents, for good."""

    id: int
    path: str
    name: str
    collection: int
    prefix: str
    kind: str = "folder"  # the source that reads it
    cursor: str = ""  # where that goes on


@dataclass(frozen=True, slots=True)
class Put:
    """A document to store in place of what its id, or the one it was moved from, stood for."""

    document: Document
    chunks: tuple[Prepared, ...]
    hash: bytes
    collection: int  # of what is in no file: a file's is that of its root
    file: tuple[int, str] | None = None  # root and name
    moved_from: DocId | None = None


@dataclass(slots=True)
class Changes:
    """What one commit makes visible."""

    put: list[Put] = field(default_factory=list)
    files: list[tuple[int, Found, bytes, int]] = field(default_factory=list)  # root, file, hash, seen
    places: list[tuple[DocId, list[Place]]] = field(default_factory=list)  # where unchanged chunks now stand
    dates: list[tuple[DocId, datetime | None, datetime | None]] = field(default_factory=list)  # modified, created
    removed: list[DocId] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)  # files that are gone
    stale: list[int] = field(default_factory=list)  # files to read again
    cursors: dict[int, str] = field(default_factory=dict)  # where sources go on, by root
    records: list[RecordChange] = field(default_factory=list)  # of which some of these documents are made
    facts: dict[str, str] = field(default_factory=dict)  # about the index


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """What the engine decides about an index that is opened for writing."""

    fingerprint: Mapping[str, Any]
    """What it is to be built with."""
    check: Callable[[Mapping[str, str]], None]
    """Raises if an index with these facts was built with something else."""
    check_roots: Callable[[Sequence[str]], None]
    """Raises if what lies there cannot be read again."""
    lock_seconds: float
    grace_seconds: float


@dataclass(frozen=True, slots=True)
class KnownRoot:
    """A root as of the last commit."""

    root: Root
    files: Mapping[str, FileState]
    facts: Mapping[str, str]


class Facts(Protocol):
    """What an index says of itself: what it was built with, and what the engine keeps beside that."""

    def meta(self) -> dict[str, str]: ...
    def set_meta(self, values: Mapping[str, str]) -> None: ...


class Roots(Protocol):
    """What an index covers, and in which collections."""

    @property
    def away(self) -> str:
        """The folder that the index belongs to, if it lies elsewhere now; else empty."""
        ...

    def collection(self, name: str, metadata: Mapping[str, str] | None = None) -> int:
        """The collection of that name, made if need be; metadata is added to what it has."""
        ...

    def collections(self) -> dict[int, str]: ...
    def roots(self) -> list[Root]: ...
    def former_roots(self) -> dict[str, tuple[str, str]]:
        """Name and prefix of the roots that were let go of, by their paths."""
        ...

    def former_names(self) -> set[str]:
        """What the ids of such roots began with, be it a prefix or, where there was none, a file or folder."""
        ...

    def beginnings(self, root: Root) -> set[str]:
        """What stands before the first slash of the ids that a root's documents have, and its name."""
        ...

    def begins(self, name: str) -> bool:
        """Whether a document is called so, or lies in a folder that is."""
        ...

    def is_one_file(self, root: Root) -> bool | None:
        """Whether a root is a file, and no folder; unknown as long as nothing was read from it."""
        ...

    def add_root(self, path: str, name: str, collection: int, prefix: str, kind: str = "folder") -> Root: ...
    def drop_root(self, root: Root, beginnings: Collection[str]) -> None: ...
    def relocate(self, moves: Sequence[tuple[Root, str]]) -> int:
        """The content of these roots lies there now; how many documents that are."""
        ...

    def set_root_collection(self, root: int, collection: int) -> None: ...
    def root_lease(self, root: Root) -> AbstractContextManager[None]:
        """Only one process at a time brings a root up to date. Whoever else wants to waits, and lets others write
        meanwhile; `IndexBusy` says who is at it if that takes too long without a commit."""
        ...


class KnownFiles(Protocol):
    """What a sync compares with."""

    def files(self, root: int) -> dict[str, FileState]: ...
    def count_of(self, file: int) -> int:
        """How many documents a file holds."""
        ...

    def documents_of(self, file: int) -> Iterator[tuple[DocId, bytes]]:
        """The documents of a file and their hashes; meanwhile some of them may go."""
        ...

    def dated(self, file: int) -> Iterator[tuple[DocId, float | None, dict[str, Any]]]:
        """The documents of a file, when each was last changed, and what it says of itself."""
        ...

    def owner(self, document: DocId) -> tuple[int, int | None, bytes] | None:
        """A document's key, file and hash, if there is such a document."""
        ...

    def root_of(self, document: DocId) -> int | None:
        """The root that a document's file is in, if it is in a file."""
        ...

    def counts(self) -> tuple[int, int]:
        """How many documents and chunks there are."""
        ...


class RegisteredEntities(Protocol):
    """What an import into a registry compares with."""

    def records(self, stage: Callable[[RecordChange], None]) -> Records:
        """What is registered. `stage` takes its changes, to be committed with the documents that are made of them."""
        ...

    def spelled(self, path: str) -> str:
        """The path of the entity that is registered under this path, however it is written; empty if none is."""
        ...

    def claimed(self, identity: str) -> bool | str | None:
        """Who has an id: an entity (False), a tool (True), a document of a file (its kind), or nobody."""
        ...

    def tools_of(self, path: str) -> list[DocId]:
        """The documents of an entity's tools."""
        ...

    def contents(self) -> dict[str, str]:
        """What the entity of each path says, in the order of the alphabet."""
        ...

    def last_row(self) -> int:
        """The highest row there is; whatever is written next comes behind it."""
        ...


class Bookkeeping(Facts, Protocol):
    """An index opened to note what a model has read: without its words."""

    def live(self, rows: Sequence[Row]) -> set[Row]:
        """Those of the rows that are live."""
        ...

    def note_vectors(self, facts: Mapping[str, str], store: str, rows: Collection[Row]) -> None:
        """A vector store holds these rows now. One that is new is expected to hold all live rows, in time."""
        ...

    def expect_vectors(self, store: str, held: Collection[Row]) -> None:
        """A vector store holds these rows and no others, and is to hold all."""
        ...


class Writer(Roots, KnownFiles, RegisteredEntities, Bookkeeping, Protocol):
    """An index opened for writing."""

    covered: list[str]
    """Where the roots lie that the index had when it was opened, also if what it says of them was lost."""
    mended: bool
    """Whether the words had to be made again."""
    lease: Lease | None

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        """The commit point: all of it becomes visible, or nothing. Returns the documents that were refused, since
        somebody else has their ids by now; their files are to be read again.

        `LeaseLost` if another took over. `last`: of a sync, after which there is time to join what was written.
        """
        ...

    def renew(self) -> None:
        """Make the lease last on, and show those who wait that the work gets on."""
        ...

    def take_turns(self) -> None:
        """Let others write who wait for it; returns when it is this writer's turn again. If nobody waits: at once."""
        ...

    def compact(self, grace: float, share: float) -> int:
        """Free what replaced rows take, once they are so large a share of the whole; how many there were. It is the
        last thing that a writer does. `grace`: for so many seconds queries may still hold a row."""
        ...
