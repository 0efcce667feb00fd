"""Protocols of search: every interface that a plug-in may implement. Few methods each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Condition, DocId, Passage, Plan, Ranking, Row

if TYPE_CHECKING:
    from watersmeet.core.entities import Entity
    from watersmeet.core.indexing import TextWriter

# ---------------------------------------------------------------- stores


@dataclass(frozen=True, slots=True)
class Term:
    """A query term in one field. `constant`: it scores `boost` if it occurs, however often."""

    field: str
    text: str
    boost: float = 1.0
    constant: bool = False


class TextStore(Protocol):
    """Text store (inverted index). One process writes at a time; any number read."""

    of_words: ClassVar[bool]
    """True marks a store that `index.text` may name."""

    @property
    def folder(self) -> str: ...
    def writer(self) -> TextWriter: ...
    def reader(self) -> TextReader: ...
    def verify(self) -> None:
        """Read all files; `IndexDamaged` if one is not as it was written."""
        ...

    def close(self) -> None: ...


class TextReader(Protocol):
    """A reader of one state of a text store. It may contain dead rows; it always contains all live rows.

    `size` is the number of rows. `within` filters before ranking; equal scores are in the order of rows.
    """

    @property
    def size(self) -> int: ...
    def match(
        self, terms: Sequence[Term], limit: int, within: Collection[Row] | None = None
    ) -> list[tuple[Row, float]]: ...
    def score(self, terms: Sequence[Term], rows: Collection[Row]) -> dict[Row, float]: ...
    def frequency(self, field: str, text: str) -> int: ...
    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        """The frequency of each word, in one call: hundreds cost about as much as one query."""
        ...

    def analyse(self, field: str, text: str) -> str:
        """The indexed term of a word, such as its stem; empty if it is not indexed."""
        ...

    def average(self, field: str) -> float:
        """Average number of terms of a row in a field; 0 if unknown."""
        ...


class Words(Protocol):
    """Keyword search for signals: live chunks only, filtered by the condition before ranking.

    `match` returns at most `limit` chunks with their scores, best first; `size` is the number of chunks behind
    `frequency`.
    """

    @property
    def size(self) -> int: ...
    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]: ...
    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]: ...
    def frequency(self, field: str, text: str) -> int: ...
    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]: ...


class PassageReader(Protocol):
    """Passages of live chunks for stages; missing chunks are left out of the answer."""

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]: ...
    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]: ...
    def owners_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, int]:
        """Document numbers instead of ids: faster, for grouping chunks by document."""
        ...

    def dates_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, datetime]: ...


class Surroundings(Protocol):
    """Neighbouring chunks in the same document, in reading order."""

    def around(self, ids: Collection[ChunkId], before: int, after: int) -> dict[ChunkId, list[Passage]]:
        """Each chunk with up to `before` and `after` chunks around it."""
        ...

    def parents(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        """First chunk of the parent section of each chunk, if that section has text of its own."""
        ...


class Edge(NamedTuple):
    """A link between two documents, in the direction in which it was written."""

    source: DocId
    target: DocId
    type: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} ({self.type})"


class Links(Protocol):
    """Links between documents, for graph signals."""

    def edges(self, documents: Collection[DocId], *, whole: bool = False) -> dict[DocId, Sequence[Edge] | None]:
        """Links from and to each document; None for a document with too many to read, unless `whole`."""
        ...

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        """Number of links from and to each document."""
        ...

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        """First chunk of each document that satisfies the condition."""
        ...


class Mention(NamedTuple):
    """Query words mentioned by the entity whose head is `chunk`: a bit set of places, and the number of words."""

    chunk: ChunkId
    places: int
    words: int


class DocumentHead(NamedTuple):
    """First chunk of a document, which represents it in rankings. `server` is the document that a tool belongs to."""

    chunk: ChunkId
    document: DocId
    kind: str
    server: DocId | None


class Entities(Protocol):
    """Entity look-ups for registry search."""

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        """Entities with the highest boosts, best first, at most `limit`."""
        ...

    def mentions(self, words: Sequence[str], ids: Collection[ChunkId]) -> list[Mention]:
        """Those of these entities that mention any of the words."""
        ...

    def kinds(self) -> Mapping[str, int]:
        """Number of documents of each kind."""
        ...

    def heads(self, ids: Collection[ChunkId]) -> Mapping[ChunkId, DocumentHead]:
        """Document head of each chunk; the mapping may have further entries."""
        ...

    def chunks(self, heads: Collection[ChunkId]) -> dict[ChunkId, ChunkId]:
        """First chunks of the documents of these heads, each with its head."""
        ...

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        """Head chunk of each document that satisfies the condition."""
        ...

    def entities(self, documents: Collection[DocId]) -> dict[DocId, Entity]:
        """Entities of these documents; a tool is not an entity."""
        ...

    def tools(self, names: Collection[str], condition: Condition) -> list[tuple[DocId, str]]:
        """Tools with these names or ids that satisfy the condition, each with its name."""
        ...

    def records(self, documents: Collection[DocId]) -> dict[DocId, dict[str, Any]]:
        """Registered records of entities and tools, as JSON."""
        ...


class PairScorer(Protocol):
    """A cross-encoder: scores how well a text answers a query."""

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]: ...


class Newest(Protocol):
    """Newest documents, for a query that only filters."""

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        """First chunk of each document that satisfies the condition, most recently changed first."""
        ...


class Aliases(Protocol):
    """Other names of documents. A stage asks with every query, so a store should answer from what it has loaded."""

    def aliased(self, key: str, ids: Collection[ChunkId]) -> list[ChunkId]:
        """Those of the chunks whose document has an alias with this link key."""
        ...


class ConceptTerms(Protocol):
    """Semantic look-up in the terms of this corpus."""

    def nearest(self, text: str, limit: int) -> Sequence[str]:
        """Terms nearest to a text that it does not contain, nearest first."""
        ...


class WeightSource(Protocol):
    """Signal weights learned from judgements and clicks."""

    def weights(self, collections: tuple[str, ...]) -> Mapping[str, float]:
        """Learned weights of signals, for these collections or, without names, the whole index; empty: none yet."""
        ...


# ---------------------------------------------------------------- query time


class Step(Protocol):
    """A query step: adds what it finds in the query to the plan."""

    def apply(self, plan: Plan) -> Plan: ...


class Signal(Protocol):
    """A signal ranks chunks for a plan. One that can also score given chunks is a `Scorer`."""

    def rank(self, plan: Plan) -> Ranking: ...


class Scorer(Signal, Protocol):
    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]: ...


class Derived(Protocol):
    """A derived signal: it runs after the others and uses their rankings."""

    def derive(self, plan: Plan, rankings: Sequence[Ranking]) -> Ranking: ...


class Fusion(Protocol):
    """A fusion of rankings. If it `fills`, every candidate is scored by every signal that is a `Scorer`."""

    @property
    def fills(self) -> bool: ...
    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking: ...


class Stage(Protocol):
    def apply(self, ranking: Ranking, plan: Plan) -> Ranking: ...
