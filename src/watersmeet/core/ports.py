"""The verbs of the pipeline: every seam that a plug-in may fill. Few methods each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from watersmeet.core.model import Chunk, ChunkId, Condition, DocId, Document, Passage, Plan, Ranking, Row

# ---------------------------------------------------------------- index time


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a source offers. `stamp` changes whenever the content may have changed."""

    name: str  # POSIX path below the source's root
    path: str  # where to open it
    stamp: tuple[int, ...]  # size, mtime in ns, ctime in ns, inode
    mtime: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was passed over, and why."""

    path: str
    reason: str


class Source(Protocol):
    """Where documents come from. `scan` only looks; `read` fetches, or says why it cannot."""

    def scan(self, root: str) -> Iterator[Found | Skipped]: ...
    def read(self, found: Found) -> bytes | Skipped: ...


class Parser(Protocol):
    """What is written in a file. A file may hold many documents; bad parts become `Skipped`."""

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]: ...


class Chunker(Protocol):
    def split(self, document: Document) -> Sequence[Chunk]: ...


# ---------------------------------------------------------------- stores


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk as a text store sees it: words per field, already tokenised and joined by spaces."""

    row: Row
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Term:
    """One word looked for in one field. `constant`: it scores `boost` where it occurs, however often."""

    field: str
    text: str
    boost: float = 1.0
    constant: bool = False


class TextWriter(Protocol):
    """Appends and deletes; nothing is visible or durable before `commit`, which syncs to disk."""

    def add(self, entries: Iterable[Entry]) -> None: ...
    def drop(self, rows: Iterable[Row]) -> None: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class TextStore(Protocol):
    """Where the words are. One process writes at a time; any number read."""

    def writer(self) -> TextWriter: ...
    def reader(self) -> TextReader: ...
    def close(self) -> None: ...


class TextReader(Protocol):
    """One state of a text store. It may hold rows that are dead in the catalogue; it never lacks a live one.

    `size` is the number of rows. `within` restricts before ranking; equal scores come in the order of rows.
    """

    @property
    def size(self) -> int: ...
    def match(
        self, terms: Sequence[Term], limit: int, within: Collection[Row] | None = None
    ) -> list[tuple[Row, float]]: ...
    def score(self, terms: Sequence[Term], rows: Collection[Row]) -> dict[Row, float]: ...
    def frequency(self, field: str, text: str) -> int: ...


class View(Protocol):
    """What is live, as of one moment: the catalogue inside a read transaction."""

    def resolve(self, rows: Collection[Row], condition: Condition) -> dict[Row, ChunkId]:
        """The public ids of those rows that are live and satisfy the condition."""
        ...

    def rows(self, ids: Collection[ChunkId]) -> dict[ChunkId, Row]:
        """The live row of each chunk that there is."""
        ...

    def matching(self, condition: Condition, limit: int) -> list[Row] | None:
        """All live rows that satisfy the condition; None if there are more than `limit`."""
        ...


class Words(Protocol):
    """What signals ask of the words: live chunks only, the condition held before ranking.

    `match` gives at most `limit` chunks with their scores, best first; `size` counts what frequencies count.
    """

    @property
    def size(self) -> int: ...
    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]: ...
    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]: ...
    def frequency(self, field: str, text: str) -> int: ...


class Reading(Protocol):
    """What stages ask about chunks that are live; one that is not there is left out of the answer."""

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]: ...
    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]: ...
    def dates_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, datetime]: ...


class Surroundings(Protocol):
    """What stands around chunks in their documents, in reading order."""

    def around(self, ids: Collection[ChunkId], before: int, after: int) -> dict[ChunkId, list[Passage]]:
        """Each chunk with so many chunks before and after it."""
        ...

    def parents(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        """The first chunk of the section that each chunk's section lies in, if that says anything itself."""
        ...


class Edge(NamedTuple):
    """A link between two documents, in the direction in which it was written."""

    source: DocId
    target: DocId
    type: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} ({self.type})"


class Links(Protocol):
    """What graph signals ask of the links between documents."""

    def edges(self, documents: Collection[DocId]) -> dict[DocId, Sequence[Edge] | None]:
        """The links from and to each document; None for one that has too many to be worth reading."""
        ...

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        """How many links leave or may reach each document."""
        ...

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        """Where each document begins, of those that satisfy the condition."""
        ...


class Pairs(Protocol):
    """A model that reads a query and a text together: how well does the one answer the other?"""

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]: ...


class Newest(Protocol):
    """The catalogue where nothing but a condition is asked for."""

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        """The first chunk of each document that satisfies the condition, the last changed first."""
        ...


class Concepts(Protocol):
    """The terms of this corpus, by meaning."""

    def near(self, text: str, limit: int) -> Sequence[str]:
        """The terms nearest to a text that it does not hold itself, the nearest first."""
        ...


# ---------------------------------------------------------------- query time


class Step(Protocol):
    """Understanding: what is being asked?"""

    def apply(self, plan: Plan) -> Plan: ...


class Signal(Protocol):
    """Who thinks what is near? A signal that can also score given chunks is a `Scorer`."""

    def rank(self, plan: Plan) -> Ranking: ...


class Scorer(Signal, Protocol):
    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]: ...


class Derived(Protocol):
    """A signal that reads what the others ranked, in a second wave."""

    def derive(self, plan: Plan, rankings: Sequence[Ranking]) -> Ranking: ...


class Fusion(Protocol):
    """What do the signals agree on? One that `fills` gets every candidate scored by every signal that can."""

    @property
    def fills(self) -> bool: ...
    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking: ...


class Stage(Protocol):
    def apply(self, ranking: Ranking, plan: Plan) -> Ranking: ...
