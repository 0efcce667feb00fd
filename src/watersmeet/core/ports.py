"""The verbs of query time: every seam that a plug-in may fill. Few methods each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watersmeet.core.model import ChunkId, Condition, DocId, Passage, Plan, Ranking, Row

if TYPE_CHECKING:
    from watersmeet.core.indexing import TextWriter

# ---------------------------------------------------------------- stores


@dataclass(frozen=True, slots=True)
class Term:
    """One word looked for in one field. `constant`: it scores `boost` where it occurs, however often."""

    field: str
    text: str
    boost: float = 1.0
    constant: bool = False


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
