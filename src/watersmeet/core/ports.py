"""The verbs of query time: every seam that a plug-in may fill. Few methods each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from watersmeet.core.model import ChunkId, Condition, DocId, Passage, Plan, Ranking, Row

if TYPE_CHECKING:
    from watersmeet.core.entities import Entity
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

    of_words: ClassVar[bool]
    """True: so a store says that `index.text` may name it."""

    @property
    def folder(self) -> str: ...
    def writer(self) -> TextWriter: ...
    def reader(self) -> TextReader: ...
    def verify(self) -> None:
        """Raise `IndexDamaged` if a file of it is not what was written; all of them are read."""
        ...

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
    def analyse(self, field: str, text: str) -> str:
        """The term that stands for a word in the store; empty if none does."""
        ...

    def average(self, field: str) -> float:
        """How many terms a row has in a field, on average; 0 if that is not known."""
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


class PassageReader(Protocol):
    """What stages ask about chunks that are live; one that is not there is left out of the answer."""

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]: ...
    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]: ...
    def owners_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, int]:
        """The same, but a number for each document: quicker, for whoever only wants to know what belongs together."""
        ...

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

    def edges(self, documents: Collection[DocId], *, whole: bool = False) -> dict[DocId, Sequence[Edge] | None]:
        """The links from and to each document; None for one that has too many to be worth reading, unless `whole`."""
        ...

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        """How many links leave or may reach each document."""
        ...

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        """Where each document begins, of those that satisfy the condition."""
        ...


class Mention(NamedTuple):
    """Where an entity, which `chunk` stands for, mentions the words of a query, and how many of them."""

    chunk: ChunkId
    places: int
    words: int


class DocumentHead(NamedTuple):
    """The first chunk of a document, which stands for all of it. `server` is the document that a tool belongs to."""

    chunk: ChunkId
    document: DocId
    kind: str
    server: DocId | None


class Entities(Protocol):
    """What a registry asks of the catalogue."""

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        """The entities that mention most, the best first: none that mentions more is left out."""
        ...

    def mentions(self, words: Sequence[str], ids: Collection[ChunkId]) -> list[Mention]:
        """Those of these entities that mention any of the words."""
        ...

    def kinds(self) -> Mapping[str, int]:
        """How many documents there are of each kind."""
        ...

    def heads(self, ids: Collection[ChunkId]) -> Mapping[ChunkId, DocumentHead]:
        """What stands for the document of each chunk; others may be in it too."""
        ...

    def chunks(self, heads: Collection[ChunkId]) -> dict[ChunkId, ChunkId]:
        """The first chunks of the documents that these stand for, each with its lead."""
        ...

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        """What stands for each document, of those that satisfy the condition."""
        ...

    def entities(self, documents: Collection[DocId]) -> dict[DocId, Entity]:
        """The entities that these documents are; a tool is none."""
        ...

    def tools(self, names: Collection[str], condition: Condition) -> list[tuple[DocId, str]]:
        """The tools of these names or ids that satisfy the condition, each with its name."""
        ...

    def records(self, documents: Collection[DocId]) -> dict[DocId, dict[str, Any]]:
        """What was registered, of entities and of tools, as JSON."""
        ...


class PairScorer(Protocol):
    """A model that reads a query and a text together: how well does the one answer the other?"""

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]: ...


class Newest(Protocol):
    """The catalogue where nothing but a condition is asked for."""

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        """The first chunk of each document that satisfies the condition, the last changed first."""
        ...


class ConceptTerms(Protocol):
    """The terms of this corpus, by meaning."""

    def nearest(self, text: str, limit: int) -> Sequence[str]:
        """The terms nearest to a text that it does not hold itself, the nearest first."""
        ...


class WeightSource(Protocol):
    """What evidence has taught of an index."""

    def weights(self, collections: tuple[str, ...]) -> Mapping[str, float]:
        """The weights that it gives signals, in some collections or, without names, in the whole; empty: none yet."""
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
