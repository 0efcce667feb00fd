"""Interface between the engine and the store of an index: a folder, a cluster, or memory.

A store implements this file and passes `watersmeet.testing.contracts`; the engine uses nothing else of it. Row numbers
are private to a store: here documents and chunks are named by their ids. Every filter of a search is a `Condition`,
which a store applies before ranking, never by listing all that match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.core.ports import Aliases, Entities, Links, Newest, PassageReader, Surroundings, Words

if TYPE_CHECKING:
    from watersmeet.core.documents import Link
    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import Matrix, Vector
    from watersmeet.core.visibility import Audience
    from watersmeet.core.writing import Bookkeeping, KnownRoot, Preview, Root, Writer, WriterOptions


FOLDER = ".watersmeet"
"""Name of the index folder, inside the folder that it indexes."""
FROZEN = "frozen"
"""Name of the file that marks an index folder as a copy that is never written."""
CURRENT_TIERS, NEXT_TIERS, TIERS_BEFORE_REBUILD = "tiers", "next_tiers", "tiers_again"
"""Keys of `Snapshot.facts`: tiers that are searched, tiers that are being built to replace them, and names of the tiers
that there were before the index was rebuilt."""
LEVEL_VERSION = "general-1:"
"""How `Tier.level` is measured, in front of `Tier.level_text`."""
QUERY_ENCODER = "query_encoder"
"""Key of `Snapshot.facts`: the tuned encoder of queries, as JSON."""
WAITING_RECORDS = "registered"
"""Key of `Snapshot.facts`: records saved from a damaged index, to be registered again."""


class Record(NamedTuple):
    """Metadata of an indexed document."""

    document: DocId
    kind: str
    title: str
    path: str
    modified: datetime | None
    collection: str
    fields: dict[str, Any]
    chunks: int


class IndexedRoot(NamedTuple):
    """A root with the name of its collection and the number of its documents."""

    root: Root
    collection: str
    documents: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of an index, limited to what a condition lets through."""

    documents: int
    chunks: int
    dead: int = 0  # replaced rows, removed by the next compaction
    kinds: Mapping[str, int] = field(default_factory=dict)
    collections: Mapping[str, int] = field(default_factory=dict)
    roots: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Tier:
    """The vectors of one model in one index: which model made them, and how many there are."""

    name: str
    model: str
    fingerprint: str
    dimension: int
    folder: str  # name of its store; no two models share one
    rows: int = 0
    rate: float = 0.0  # chunks a second, when last measured
    level: float = 0.0  # how near general queries come: the mean cosine of their first results
    level_rows: int = 0  # number of rows when it was measured
    public_level: float = 0.0  # the same for chunks that everyone may see
    public_level_rows: int = 0
    level_text: str = ""  # how it was measured, and the generation of the text store at that time

    @property
    def measured(self) -> bool:
        """Whether the level was measured as it is now; if not, the next sync measures it."""
        return self.level_text.startswith(LEVEL_VERSION)


class Unseen(NamedTuple):
    """A live chunk that a tier has no vector of yet, with the text to embed."""

    row: Row
    title: str
    headings: tuple[str, ...]
    text: str


class Vectors(Protocol):
    """Vector search in one tier (dense or sparse): live chunks only, filtered by the condition before ranking.

    Scores are cosines, or sums of products of weights. A zero or missing vector has no score. Several queries are sent
    at once, since the store may be remote: the answer has one mapping of scores for each.
    """

    def nearest(
        self, queries: Sequence[Vector | Weighted], condition: Condition, limit: int
    ) -> list[dict[ChunkId, float]]:
        """The best chunks of each query in descending order, equal scores by id; after them the chunks that only the
        other queries rank."""
        ...

    def score(self, queries: Sequence[Vector | Weighted], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]: ...
    def read(self, ids: Sequence[ChunkId]) -> Matrix:
        """Vectors of those of these chunks that have one, in this order. Weighted terms cannot be read."""
        ...


class Documents(PassageReader, Surroundings, Newest, Aliases, Protocol):
    """Queries about whole documents. Without a condition, all documents are included."""

    def passages_of(self, document: DocId) -> list[Passage]:
        """All passages of a document, in its order."""
        ...

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None: ...
    def records(self, condition: Condition = ANY) -> list[Record]:
        """All documents that satisfy the condition, by name."""
        ...

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        """Those of the documents that exist and satisfy the condition."""
        ...

    def links_of(self, document: DocId) -> list[Link]:
        """Links of a document, as written."""
        ...

    def named_texts(self) -> list[tuple[DocId, DocId, str]]:
        """Links with a text of their own, as (from, to, text), each resolved to the document closest in name."""
        ...

    def names_of(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """Words of each document's names other than its title: file name, aliases, tags."""
        ...

    def words_only(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        """Words that documents are found by and that are in no text: descriptive fields, words of a registry record."""
        ...

    def collections_of(self, documents: Collection[str]) -> set[str]: ...
    def at(self, paths: Collection[str], condition: Condition) -> list[DocId]:
        """Documents read from one of these paths."""
        ...

    def named(self, key: str, condition: Condition) -> dict[DocId, int]:
        """Documents that a link with this key may refer to, with a rank: lower is a closer name."""
        ...

    def titled(self, key: str, condition: Condition) -> list[DocId]:
        """Documents whose title gives this link key."""
        ...

    def titles(self, condition: Condition, limit: int) -> list[tuple[DocId, str]] | None:
        """Every document with its title; None if there are more than `limit`."""
        ...

    def fields(self, condition: Condition = ANY) -> set[str]:
        """Names of the fields that can be filtered by, besides those that every document has: fields of documents that
        satisfy the condition, and metadata of their collections."""
        ...

    def values_of(self, key: str, condition: Condition) -> list[str]:
        """Values of a field, the commonest first."""
        ...

    def count_values(self, documents: Collection[DocId], key: str) -> dict[str, int]:
        """How many of these documents have each value of a facet, or are of each `kind` or in each `collection`."""
        ...

    def tags(self, condition: Condition, without: Collection[str]) -> dict[str, int]:
        """Number of documents that each tag finds as a filter: those with the tag or one below it, or in a collection
        with such a tag. `without` names kinds that are not counted."""
        ...


class Snapshot(Documents, Protocol):
    """A read snapshot of an index: later commits are not visible in it.

    An index may return the same object again for a later state; `version` tells them apart. Its `words`, `vectors`, ...
    stay valid as long as `generation` is the same.
    """

    @property
    def version(self) -> object:
        """Changes with every commit: the key of answer caches."""
        ...

    @property
    def generation(self) -> str:
        """Changes when stores are replaced, not when they grow: the key of pipeline caches."""
        ...

    @property
    def damaged(self) -> Mapping[str, None]:
        """Names of damaged documents that queries of this snapshot came upon and left out."""
        ...

    @property
    def incomplete(self) -> Mapping[str, None]:
        """What of this query found less than there is, for too many candidates did not satisfy its condition."""
        ...

    def facts(self) -> Mapping[str, str]:
        """Metadata of the index: the settings that it was built with, and values that the engine stores."""
        ...

    @property
    def outdated(self) -> bool:
        """Whether an earlier version wrote it. It can be searched; the first writer upgrades it."""
        ...

    def tiers(self) -> Mapping[str, Tier]: ...
    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Those of the gates that may exclude any document; without a registry, none. Extra gates do no harm."""
        ...

    def words(self, visible: Condition) -> Words | None:
        """Keyword search, with the statistics of what `visible` lets through; None if the index was never written."""
        ...

    def vectors(self, tier: Tier, visible: Condition) -> Vectors:
        """Vector search in a tier; raises if the vectors cannot be used."""
        ...

    def links(self, visible: Condition) -> Links: ...
    def entities(self, visible: Condition) -> Entities: ...
    def kinds(self, visible: Condition = ANY) -> Mapping[str, int]:
        """Number of documents of each kind: counted when they are written, not at query time."""
        ...

    def statistics(self, visible: Condition = ANY) -> Statistics: ...
    def collection_audiences(self) -> Mapping[str, Audience]:
        """Audiences of the collections that not everyone may see, by name: for the owner of the index."""
        ...

    def former_collections(self) -> Mapping[str, str]:
        """The collections of removed roots, by path, where not everyone may see them, as `Roots.former_collections`."""
        ...

    def indexed_roots(self, visible: Condition = ANY) -> list[IndexedRoot]:
        """The roots in the order in which they were added, with the number of their visible documents."""
        ...

    def text_bytes(self, visible: Condition = ANY) -> int:
        """Total size of all texts."""
        ...

    def sample(self, most: int, visible: Condition = ANY, *, outside: bool = False, since: int = 0) -> list[ChunkId]:
        """A repeatable random sample of at most `most` chunks, independent of the index's history; with `outside`, of
        the chunks that the condition does not let through; with `since`, of those added since `last_row` returned this
        number."""
        ...

    def last_row(self) -> int:
        """The highest row number: it grows with every chunk that is added."""
        ...

    def added_since(self, row: int, visible: Condition = ANY) -> int:
        """Number of live chunks added since `last_row` returned this number."""
        ...

    def coverage(self, tier: Tier, visible: Condition = ANY) -> float:
        """Share of the chunks that a tier has vectors of."""
        ...

    def left(self, tier: Tier, after: int = 0) -> int:
        """Number of chunks that a tier has no vectors of yet."""
        ...

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        """Chunks without a vector in a tier: those in `first` before the others, only rows above `after`."""
        ...


class State(Protocol):
    """A small named value that many processes read and one changes at a time. `str()` gives its location."""

    def __hash__(self) -> int:
        """Used with `version` as the key of caches of derived values."""
        ...

    def version(self) -> object:
        """Changes when the value does; None if there is none. Read with every query: a remote store may return the
        version as of the last snapshot, to save a round trip."""
        ...

    def read(self) -> bytes | None: ...
    def changing(self, wait: float) -> AbstractContextManager[StateChange]:
        """Lock it until the block ends; `IndexBusy` if others hold the lock for longer than `wait` seconds."""
        ...


class StateChange(Protocol):
    def read(self) -> bytes | None: ...
    def write(self, content: bytes | None) -> None:
        """Set the new value; None deletes it."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one health check of an index."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


class CopiedIndex(NamedTuple):
    """What a frozen copy of an index has, and what was left out of it."""

    documents: int
    private: int
    damaged: int
    entities: int


class ReadableIndex(Protocol):
    """An index opened for reading."""

    @property
    def place(self) -> str:
        """Location for messages: a folder, or an address without secrets."""
        ...

    @property
    def remote(self) -> bool:
        """Whether it is on another machine: then signals run in parallel."""
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """A snapshot for one query; its threads may share it. `NoIndex` if there is no index."""
        ...

    def state(self, name: str) -> State: ...
    def check(self) -> list[Check]:
        """Health checks that read all files; damaged documents are excluded from then on."""
        ...

    def size_bytes(self) -> int:
        """Size on disk."""
        ...

    def close(self) -> None: ...


class Index(ReadableIndex, Protocol):
    """An index that can be written: any number of readers, one writer at a time."""

    @property
    def format(self) -> int:
        """Format version: increased when an earlier version cannot read the files."""
        ...

    def exists(self) -> bool: ...
    def writer(self, options: WriterOptions, recreate: bool = False) -> AbstractContextManager[Writer]:
        """Open for writing, created if it does not exist; with `recreate`, started from empty. `IndexBusy` if another
        writer makes no progress for longer than `options.lock_seconds`."""
        ...

    def preview(self) -> AbstractContextManager[Preview]:
        """Open it for a dry run, without a lock: what is written to it is dropped. An empty one if it does not exist;
        nothing is created."""
        ...

    def bookkeeping(self, wait: float) -> AbstractContextManager[Bookkeeping]:
        """Open it to record which rows have vectors; `IndexBusy` as for a writer."""
        ...

    def alone(self, work: str) -> AbstractContextManager[None]:
        """Exclusive lock for this work; `IndexBusy` at once if another process holds it, naming that process."""
        ...

    def root_places(self) -> list[str]:
        """Locations of its roots; readable even if the rest of the index is damaged."""
        ...

    def known_roots(self, wanted: Callable[[Root], bool]) -> Mapping[str, KnownRoot]:
        """The `wanted` roots as of the last commit, by location, without locking the index. Empty if it cannot be read:
        opening it raises the reason."""
        ...

    def vector_store(self, tier: Tier) -> Any:
        """Store of a tier: a `VectorStore`, or a posting store for weighted terms."""
        ...

    def name_vectors(self, tier: str, fingerprint: str, facts: Mapping[str, str], replaces: str = "") -> str:
        """Name for the store of a new tier: different for each model, and for a tier that replaces another."""
        ...

    def note_damage(self, reason: str) -> None:
        """Record damage, to be repaired by the next writer."""
        ...


class OnServers(Protocol):
    """An index on servers, for the readiness of whoever searches it."""

    def servers(self) -> list[Check]:
        """The servers by name, each asked once with the deadline of a query."""
        ...


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class BackupPart(NamedTuple):
    """A piece of a backup: a file of a local index, a table of a database, a named state. Its content is read once."""

    name: str
    size: int
    content: Readable


class BackupSource(NamedTuple):
    """One consistent state of an index, to be read part by part."""

    documents: int
    parts: Iterator[BackupPart]


class BackedUp(Protocol):
    """An index that can be backed up while others write, and made again from its parts. Named states are not part of
    it: the engine adds them."""

    @property
    def kind(self) -> str:
        """Name of the store: a backup of one is not restored by another."""
        ...

    def back_up(self, scratch: str, wait: float) -> AbstractContextManager[BackupSource]:
        """Hold one state until the block ends. `scratch`: an empty folder for temporary files. `IndexBusy` if writers
        do not pause within `wait` seconds; raises if the index is damaged."""
        ...

    def restore(self, parts: Iterator[BackupPart], states: Collection[str], replace: bool, wait: float) -> int:
        """Make the index from parts, all or nothing, and return the number of documents. `states`: the names of states
        among the parts. Any error, also of the iterator, leaves what was there. `replace`: instead of an index that
        exists, which is an error otherwise."""
        ...


class ChangedRecords(NamedTuple):
    """Registered records that one generation has, or has otherwise, and those that it has no longer."""

    records: Sequence[Mapping[str, Any]]
    gone: Sequence[str]


CatchUp = Callable[[str, ChangedRecords], None]
"""Called with the place of a generation that is about to be taken, and the records of the present one that differ,
while nobody else can write."""


class NextGeneration(NamedTuple):
    """A generation that is being built: an index at a place of its own, with the roots and records of the old one.

    `adopt(catch_up, wait)` puts it in the place of the old one, which can be taken back. `IndexBusy` if roots were
    changed meanwhile."""

    place: str
    adopt: Callable[[CatchUp, float], None]


class Generations(Protocol):
    """An index that can be built anew beside itself, and goes on to answer until then."""

    def can_be_beside(self) -> bool:
        """Whether it can be done here and now: the index is sound, has documents, and there is a place beside it."""
        ...

    def next_generation(self) -> AbstractContextManager[NextGeneration]:
        """A new generation, given up at the end of the block unless it was adopted; `IndexBusy` if another process
        builds one."""
        ...

    def roll_back(self, catch_up: CatchUp, wait: float) -> str:
        """Take the previous generation back; the present one becomes the previous. Returns where that is."""
        ...

    def forget_previous(self) -> int:
        """Delete the previous generation; returns the bytes that this freed."""
        ...
