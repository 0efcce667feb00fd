"""Interface between the engine and the store of an index, for writing.

A writer holds a lease. It collects `Changes` and commits them: all become visible, or none. Row numbers and the storage
of words are internal to the store. Between two commits a writer may let others take a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.visibility import is_restricted

if TYPE_CHECKING:
    from watersmeet.core.documents import Document
    from watersmeet.core.indexing import Found
    from watersmeet.core.model import DocId, Row
    from watersmeet.core.place import Place
    from watersmeet.core.registry_records import RecordChange, Records
    from watersmeet.core.text_fields import Prepared
    from watersmeet.core.visibility import Audience


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write, until it expires. The fence grows with every lease of a name: a holder of an older lease has
    lost it, and its commits are refused."""

    name: str
    holder: str
    expires: float
    fence: int


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a file when it was last read."""

    id: int
    name: str
    stamp: str  # empty: must be read again
    hash: bytes
    read_ns: int  # ns since the epoch, just before the file was read; negative: must be read again


@dataclass(frozen=True, slots=True)
class Root:
    """A synced folder, file or address. `prefix` is part of the ids of its documents and never changes."""

    id: int
    path: str
    name: str
    collection: int
    prefix: str
    kind: str = "folder"  # the source that reads it
    cursor: str = ""  # of its last scan


@dataclass(frozen=True, slots=True)
class Put:
    """A document to store, replacing the one of its id, or of the id that it was moved from."""

    document: Document
    chunks: tuple[Prepared, ...]
    hash: bytes
    collection: int  # for documents that are in no file; a file has that of its root
    file: tuple[int, str] | None = None  # root and name
    moved_from: DocId | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """What a dry run would have done to a document: added, changed, moved or removed it. `restricted`: not all viewers
    may see the new version."""

    action: str
    document: DocId
    restricted: bool = False


def planned(puts: Sequence[Put], removed: Sequence[DocId], exists: Callable[[DocId], bool]) -> list[Planned]:
    """What would become of documents, in their order."""
    found = []
    for put in puts:
        action = "moved" if put.moved_from else "changed" if exists(put.document.id) else "added"
        found.append(Planned(action, put.document.id, is_restricted(put.document.fields)))
    return [*found, *(Planned("removed", document) for document in removed)]


@dataclass(slots=True)
class Changes:
    """The changes of one commit."""

    put: list[Put] = field(default_factory=list)
    files: list[tuple[int, Found, bytes, int]] = field(default_factory=list)  # root, file, hash, read_ns
    places: list[tuple[DocId, list[Place]]] = field(default_factory=list)  # new places of unchanged chunks
    dates: list[tuple[DocId, datetime | None, datetime | None]] = field(default_factory=list)  # modified, created
    removed: list[DocId] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)  # deleted files
    stale: list[int] = field(default_factory=list)  # files to read again
    cursors: dict[int, str] = field(default_factory=dict)  # new cursors of sources, by root
    records: list[RecordChange] = field(default_factory=list)  # registry records behind these documents
    facts: dict[str, str] = field(default_factory=dict)  # about the index


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Options for opening an index for writing."""

    fingerprint: Mapping[str, Any]
    """Settings that the index is built with."""
    check: Callable[[Mapping[str, str]], None]
    """Raises if an index with these facts was built with other settings."""
    check_roots: Callable[[Sequence[str]], None]
    """Raises if one of these roots cannot be read again."""
    lock_seconds: float
    grace_seconds: float
    batch_chunks: int
    """Chunks of one commit, and of one piece of a compaction."""


@dataclass(frozen=True, slots=True)
class KnownRoot:
    """A root as of the last commit."""

    root: Root
    files: Mapping[str, FileState]
    facts: Mapping[str, str]


class Facts(Protocol):
    """Metadata of an index: the settings that it was built with, and values that the engine stores."""

    def meta(self) -> dict[str, str]: ...
    def set_meta(self, values: Mapping[str, str]) -> None: ...


class Roots(Protocol):
    """Roots of an index, and their collections."""

    @property
    def away(self) -> str:
        """The folder that the index was built for, if the index was moved elsewhere; else empty."""
        ...

    def collection(self, name: str, metadata: Mapping[str, str] | None = None) -> int:
        """Id of the collection of that name, created if needed; metadata is added to it."""
        ...

    def collections(self) -> dict[int, str]: ...
    def collection_audiences(self) -> dict[int, Audience]:
        """Audiences of the collections that not everyone may see, by id. Such a collection exists until its audience is
        everyone, even without documents."""
        ...

    def set_audience(self, collection: int, audience: Audience) -> None:
        """Changes who may see the documents of a collection; empty: everyone.

        One commit: all its documents change, or none. Each of them has the fields `restricted_to(fields, audience)`,
        and so has every document that is put into the collection later, whoever commits it and whenever the writer read
        it. Words of restricted documents are in no statistics of those who may not see them, as if the documents had
        been put restricted. A collection with neither roots nor documents whose audience becomes everyone is deleted.
        """
        ...

    def roots(self) -> list[Root]: ...
    def former_roots(self) -> dict[str, tuple[str, str]]:
        """Name and prefix of removed roots, by path."""
        ...

    def former_collections(self) -> dict[str, str]:
        """The collections of removed roots, by path, where not everyone may see them: they are remembered even if no
        root is left, until the audience is everyone."""
        ...

    def former_names(self) -> set[str]:
        """First parts of the ids of removed roots: the prefix or, without one, a file or folder."""
        ...

    def beginnings(self, root: Root) -> set[str]:
        """First parts, before the slash, of the ids of a root's documents, and the root's name."""
        ...

    def begins(self, name: str) -> bool:
        """Whether a document or a folder of documents has this name."""
        ...

    def is_one_file(self, root: Root) -> bool | None:
        """Whether a root is a single file; None until something was read from it."""
        ...

    def add_root(self, path: str, name: str, collection: int, prefix: str, kind: str = "folder") -> Root: ...
    def drop_root(self, root: Root, beginnings: Collection[str]) -> None: ...
    def relocate(self, moves: Sequence[tuple[Root, str]]) -> int:
        """Change the locations of roots; returns the number of their documents."""
        ...

    def set_root_collection(self, root: int, collection: int) -> None:
        """Moves a root with its documents, which get the audience of their new collection in the same commit."""
        ...

    def root_lease(self, root: Root) -> AbstractContextManager[None]:
        """Exclusive lease for syncing a root. Other processes wait, without blocking writers; `IndexBusy` names the
        holder if it takes too long without a commit."""
        ...


class KnownFiles(Protocol):
    """Stored state of files and documents, for sync."""

    def files(self, root: int) -> dict[str, FileState]: ...
    def count_of(self, file: int) -> int:
        """Number of documents of a file."""
        ...

    def documents_of(self, file: int) -> Iterator[tuple[DocId, bytes]]:
        """Documents of a file with their hashes; documents may be deleted while iterating."""
        ...

    def dated(self, file: int) -> Iterator[tuple[DocId, float | None, dict[str, Any]]]:
        """Documents of a file with their modification times and fields."""
        ...

    def owner(self, document: DocId) -> tuple[int, int | None, bytes] | None:
        """Key, file and hash of a document, if it exists."""
        ...

    def root_of(self, document: DocId) -> int | None:
        """Root of a document's file, if it is in a file."""
        ...

    def counts(self) -> tuple[int, int]:
        """Number of documents and of chunks."""
        ...


class RegisteredEntities(Protocol):
    """Stored registry entities, for imports."""

    def records(self, stage: Callable[[RecordChange], None]) -> Records:
        """Registry records. `stage` receives their changes, to be committed with the documents derived from them."""
        ...

    def spelled(self, path: str) -> str:
        """Stored spelling of the path of a registered entity, however it is written here; empty if none."""
        ...

    def claimed(self, identity: str) -> bool | str | None:
        """Owner of an id: an entity (False), a tool (True), a document of a file (its kind), or none (None)."""
        ...

    def tools_of(self, path: str) -> list[DocId]:
        """The documents of an entity's tools."""
        ...

    def contents(self) -> dict[str, str]:
        """Content hash of the entity of each path, ordered by path."""
        ...

    def last_row(self) -> int:
        """The highest row; rows written later are higher."""
        ...


class Bookkeeping(Facts, Protocol):
    """An index opened to record which rows have vectors, without its text store."""

    def live(self, rows: Sequence[Row]) -> set[Row]:
        """Those of the rows that are live."""
        ...

    def note_vectors(self, facts: Mapping[str, str], store: str, rows: Collection[Row]) -> None:
        """Record that a vector store has these rows. A new store is expected to have all live rows in the end."""
        ...

    def expect_vectors(self, store: str, rows: Collection[Row]) -> None:
        """Record that a vector store has only these rows, and is expected to have all live rows."""
        ...


class Writer(Roots, KnownFiles, RegisteredEntities, Bookkeeping, Protocol):
    """An index opened for writing."""

    covered: list[str]
    """Locations of the roots when the index was opened, even if their other data was lost."""
    mended: bool
    """Whether the text store had to be rebuilt."""
    lease: Lease | None

    def commit(self, changes: Changes, last: bool = False) -> list[Put]:
        """Commit: all changes become visible, or none. Returns the documents that were refused because another
        document has taken their ids; their files must be read again.

        `LeaseLost` if another writer took over. `last`: the last commit of a sync, after which segments are merged.
        """
        ...

    def renew(self) -> None:
        """Renew the lease, and show progress to waiting processes."""
        ...

    def take_turns(self) -> None:
        """Let waiting writers write; returns when it is this writer's turn again, at once if none waits."""
        ...

    def compact(self, grace: float, share: float) -> int:
        """Remove dead rows if they are at least this share of all rows; returns their number. It is the last call of a
        writer. `grace`: seconds for which running queries may still use a row."""
        ...


class Preview(Roots, KnownFiles, Facts, Protocol):
    """An index to try a sync of files on: it is read without a lock, and what is written to it is dropped."""

    planned: list[Planned]
    """What would have been written, in order."""
