"""The seam between the engine and the place where an index is kept: a folder, a cluster, or memory.

A store is written against this file and passes `watersmeet.testing.contracts`; the engine knows no other. Rows are a
store's own: here things are called by the ids of documents and chunks. Whatever narrows a search is a `Condition`, and
a store decides it before it ranks: never by listing all that match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.core.ports import Entities, Links, Newest, PassageReader, Surroundings, Words

if TYPE_CHECKING:
    from watersmeet.core.documents import Link
    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import Matrix, Vector
    from watersmeet.core.writing import Bookkeeping, KnownRoot, Root, Writer, WriterOptions


FOLDER = ".watersmeet"
"""Name of the index folder, inside the folder that it indexes."""
CURRENT_TIERS, NEXT_TIERS, TIERS_BEFORE_REBUILD = "tiers", "next_tiers", "tiers_again"
"""Keys of `Snapshot.facts`: tiers that are searched, tiers that are being built to replace them, and names of the tiers
that there were before the index was rebuilt."""
WAITING_RECORDS = "registered"
"""Key of `Snapshot.facts`: records saved from a damaged index, to be registered again."""


class Record(NamedTuple):
    """A document as the index knows it."""

    document: DocId
    kind: str
    title: str
    path: str
    modified: datetime | None
    collection: str
    fields: dict[str, Any]
    chunks: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """How much there is, as far as a condition lets it be seen."""

    documents: int
    chunks: int
    dead: int = 0  # replaced rows that wait for compaction
    kinds: Mapping[str, int] = field(default_factory=dict)
    collections: Mapping[str, int] = field(default_factory=dict)
    roots: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Tier:
    """One model's vectors in one index: what they were made with, and how far they have come."""

    name: str
    model: str
    fingerprint: str
    dimension: int
    folder: str  # what its store is called: no two models share one
    rows: int = 0
    rate: float = 0.0  # chunks a second, when last measured
    level: float = 0.0  # how near the chunks are to one another: the usual cosine of a chunk and its tenth neighbour
    level_rows: int = 0  # how many there were when that was measured
    public_level: float = 0.0  # the same of the chunks that everyone may see
    public_level_rows: int = 0
    level_text: str = ""  # the generation of the words then


class Unseen(NamedTuple):
    """A live chunk that a tier's model has not read yet, with what is embedded of it."""

    row: Row
    title: str
    headings: tuple[str, ...]
    text: str


class Vectors(Protocol):
    """The vectors, or weighted terms, of one tier: live chunks only, the condition held before ranking.

    Scores are cosines, or sums of products of weights. What is zero, or not there yet, has none. Several queries are
    asked at once, since the store may be far away: each has its own scores in the answer.
    """

    def nearest(
        self, queries: Sequence[Vector | Weighted], condition: Condition, limit: int
    ) -> list[dict[ChunkId, float]]:
        """The best of each query, in descending order; of equal ones, those whose ids come first. Behind them what only
        the other queries rank."""
        ...

    def score(self, queries: Sequence[Vector | Weighted], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]: ...
    def read(self, ids: Sequence[ChunkId]) -> Matrix:
        """The vectors of those of these chunks that are held, in this order. Weighted terms cannot be read."""
        ...


class Documents(PassageReader, Surroundings, Newest, Protocol):
    """What is asked about documents as a whole. A condition that is not given lets everything through."""

    def passages_of(self, document: DocId) -> list[Passage]:
        """All passages of a document, in its order."""
        ...

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None: ...
    def records(self, condition: Condition = ANY) -> list[Record]:
        """All documents that satisfy the condition, by name."""
        ...

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        """Those of the documents that are there and satisfy the condition."""
        ...

    def links_of(self, document: DocId) -> list[Link]:
        """A document's links, as they are written."""
        ...

    def named_texts(self) -> list[tuple[DocId, DocId, str]]:
        """Links with a text of their own, as (from, to, text), each resolved to the document closest in name."""
        ...

    def names_of(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """The words of what each document goes by besides its title: the name of its file, its aliases, its tags."""
        ...

    def words_only(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """The words that entities are found by and that stand in no text."""
        ...

    def collections_of(self, documents: Collection[str]) -> set[str]: ...
    def at(self, paths: Collection[str], condition: Condition) -> list[DocId]:
        """The documents that are read from one of these places."""
        ...

    def named(self, key: str, condition: Condition) -> dict[DocId, int]:
        """The documents that a link with this key may mean; a low rank is a closer name."""
        ...

    def titled(self, key: str, condition: Condition) -> list[DocId]:
        """The documents whose title comes to this key, as links are resolved."""
        ...

    def titles(self, condition: Condition, limit: int) -> list[tuple[DocId, str]] | None:
        """Every document with its title; None if there are more than `limit`."""
        ...

    def fields(self, condition: Condition = ANY) -> set[str]:
        """What there is to filter by, besides what every document has."""
        ...

    def values_of(self, key: str, condition: Condition) -> list[str]:
        """What documents have in a field, the commonest first."""
        ...

    def tags(self, condition: Condition, without: Collection[str]) -> dict[str, int]:
        """How many documents carry each tag, those of some kinds left out."""
        ...


class Snapshot(Documents, Protocol):
    """An index as of one moment: what is committed meanwhile is not seen.

    An index may give the same object again for a later moment; `version` says which it is. What it gave (`words`,
    `vectors`, ...) stays good then, for as long as `generation` is the same.
    """

    @property
    def version(self) -> object:
        """Changes with every commit: what caches of answers belong to."""
        ...

    @property
    def generation(self) -> str:
        """Changes when stores are replaced, not when they grow: what pipelines belong to."""
        ...

    @property
    def damaged(self) -> Mapping[str, None]:
        """Names of documents that were met in this moment, are not as they were written, and were left out."""
        ...

    def facts(self) -> Mapping[str, str]:
        """What the index says of itself: what it was built with, and what the engine keeps beside that."""
        ...

    @property
    def outdated(self) -> bool:
        """Whether an earlier version made it: it answers as it is, and the first writer makes it one of today."""
        ...

    def tiers(self) -> Mapping[str, Tier]: ...
    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Those of the gates that may keep anything out; without a registry, none. One too many does no harm."""
        ...

    def words(self, seen: Condition) -> Words | None:
        """The words, with the statistics of what `seen` lets through; None if nothing was ever put into the index."""
        ...

    def vectors(self, tier: Tier, seen: Condition) -> Vectors:
        """Raises what is wrong with them, if anything is."""
        ...

    def links(self, seen: Condition) -> Links: ...
    def entities(self, seen: Condition) -> Entities: ...
    def kinds(self, seen: Condition = ANY) -> Mapping[str, int]:
        """How many documents there are of each kind: counted when they were put, not when somebody asks."""
        ...

    def statistics(self, seen: Condition = ANY) -> Statistics: ...
    def text_bytes(self, seen: Condition = ANY) -> int:
        """How long all texts are."""
        ...

    def sample(self, most: int, seen: Condition = ANY, *, outside: bool = False) -> list[ChunkId]:
        """At most so many chunks, by chance but always the same, whatever the index's history; or of those that the
        condition does not let through."""
        ...

    def last_row(self) -> int:
        """A number that grows with every chunk that is added."""
        ...

    def added_since(self, row: int, seen: Condition = ANY) -> int:
        """How many chunks were added since `last_row` gave this number, and are still there."""
        ...

    def coverage(self, tier: Tier, seen: Condition = ANY) -> float:
        """The share of the chunks that a tier's model has read."""
        ...

    def left(self, tier: Tier, after: int = 0) -> int:
        """How many chunks a tier's model has still to read."""
        ...

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        """Chunks that a tier's model has not read, those named `first` before the others, only rows behind `after`."""
        ...


class State(Protocol):
    """A small value under a name, which many processes read and one changes at a time. `str()` says where it is."""

    def __hash__(self) -> int:
        """What is made of a value is remembered by its state and version."""
        ...

    def version(self) -> object:
        """Changes when the value does; None if there is none. Asked for with every query: as of the last snapshot will
        do, where a look would cost a round trip."""
        ...

    def read(self) -> bytes | None: ...
    def changing(self, wait: float) -> AbstractContextManager[StateChange]:
        """Hold it until the block ends; `IndexBusy` if others hold it for longer than `wait` seconds."""
        ...


class StateChange(Protocol):
    def read(self) -> bytes | None: ...
    def write(self, content: bytes | None) -> None:
        """The new value; None: there is none any more."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that could be wrong with an index, looked at."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


class ReadableIndex(Protocol):
    """Where everything is kept, as far as a search needs it."""

    @property
    def place(self) -> str:
        """How people name it: a folder, or an address without what is secret in it."""
        ...

    @property
    def remote(self) -> bool:
        """Whether another machine is asked: then signals wait beside one another, and not one after the other."""
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """One moment, for one query; its threads may share it. `NoIndex` if there is nothing there."""
        ...

    def state(self, name: str) -> State: ...
    def check(self) -> list[Check]:
        """What could be wrong with what is kept, all of it read; what is damaged is left aside from then on."""
        ...

    def size_bytes(self) -> int:
        """How much room it takes."""
        ...

    def close(self) -> None: ...


class Index(ReadableIndex, Protocol):
    """The same with what changes it: any number of readers, and writers that take turns."""

    @property
    def format(self) -> int:
        """Raised when what is kept changes in a way that an earlier version cannot read."""
        ...

    def exists(self) -> bool: ...
    def writer(self, opening: WriterOptions, recreate: bool = False) -> AbstractContextManager[Writer]:
        """Open it for writing, made if there is none; with `recreate`, begun anew. `IndexBusy` if others write and
        nobody gets on for longer than the opening allows."""
        ...

    def bookkeeping(self, wait: float) -> AbstractContextManager[Bookkeeping]:
        """Open it to note what a model has read; `IndexBusy` as for a writer."""
        ...

    def alone(self, work: str) -> AbstractContextManager[None]:
        """Only one process does this work at a time; `IndexBusy` at once, which says who does it."""
        ...

    def root_places(self) -> list[str]:
        """What it covers, however damaged the rest of it is."""
        ...

    def known_roots(self, wanted: Callable[[Root], bool]) -> Mapping[str, KnownRoot]:
        """Some of the roots as of the last commit, by their places, without holding the index. None if it cannot be
        read: whoever opens it says why."""
        ...

    def vector_store(self, tier: Tier) -> Any:
        """Where the vectors, or weighted terms, of a tier are: a `VectorStore`, or one of postings."""
        ...

    def name_vectors(self, tier: str, fingerprint: str, facts: Mapping[str, str], replaces: str = "") -> str:
        """What the store of a new tier is called: no two models share one, nor does one that replaces another."""
        ...

    def note_damage(self, reason: str) -> None:
        """The next writer repairs it."""
        ...
