"""Data classes of the query pipeline: frozen, standard library only, checking only their own invariants."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from datetime import datetime
from functools import partial
from math import inf
from operator import ge, gt, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, NewType, TypeVar

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.options import option
from watersmeet.core.place import Place

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer

DocId = NewType("DocId", str)
ChunkId = NewType("ChunkId", str)
Row = NewType("Row", int)
"""Row number of one version of one chunk: never reused, and internal to the index."""

Fields = Mapping[str, Any]
"""Front matter or metadata: JSON values by name."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Filter on results: AND between keys, OR within one key, and a time range."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    since: datetime | None = None
    before: datetime | None = None
    also: tuple[tuple[str, tuple[str, ...]], ...] = ()  # more values for keys that are already in `fields`
    without: tuple[tuple[str, tuple[str, ...]], ...] = ()  # excluded values by key
    gates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Access filters: a document with such a facet must have one of these values; one without it passes."""

    def __bool__(self) -> bool:
        return self.has_filters or bool(self.gates)

    @property
    def has_filters(self) -> bool:
        """Whether the request filters; gates do not count, since they are always set."""
        return bool(self.fields or self.also or self.without) or self.since is not None or self.before is not None

    def narrowed(self, key: str, values: tuple[str, ...]) -> Condition:
        """This condition and one of these values for the key; repeating it changes nothing."""
        if self.fields.get(key) == values or (key, values) in self.also:
            return self
        if key not in self.fields:
            return replace(self, fields={**self.fields, key: values})
        return replace(self, also=(*self.also, (key, values)))


ANY = Condition()


@dataclass(frozen=True, slots=True)
class Request:
    """A search request, as every face passes it to the engine."""

    query: str  # what to search for
    mode: str = ""  # lexical, exact, static, dense, sparse or hybrid; empty: the best mode that the index supports
    recipe: str = ""  # empty: as in the settings
    top_n: int = 10  # most results
    condition: Condition = Condition()  # filters; `search` makes it from `filters`, `since`, `before` and `exclude`
    intent: str = ""  # what the answer is needed for, if the query alone is ambiguous
    strict: bool = False  # fail if a signal of the recipe is not used
    viewer: Viewer | None = None  # none: the owner of the index
    stop: Callable[[], bool] | None = None  # cancellation callback, called between steps: true if the client has gone
    now: datetime | None = None  # reference time for recency; none: the clock
    min_score: float = 0.0  # results with a lower score are left out; the best has 1
    min_confidence: float = 0.0  # an answer with less confidence has no results
    one_per_document: bool = False  # only the best passage of each document
    expand: str = ""  # `section` or `page`: each result with all of it
    expand_tokens: int | None = None  # ... up to so many tokens
    offset: int = 0  # so many of the best results are left out: they were shown before
    facets: bool = False  # whether to count what was found by kind, collection, tag and date

    @property
    def depth(self) -> int:
        """Number of results that are ranked: those of this page and those before it."""
        return self.offset + self.top_n


EXPANSIONS = ("section", "page")


class RouteMatch(NamedTuple):
    """A router rule that matched the query: its number, its pattern, and what it added to the plan."""

    rule: int
    match: str
    filters: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]
    only: tuple[str, ...]


class Operator(NamedTuple):
    """An operator typed into the query: phrase, without, tag, path or kind. `reason`: why it is searched as text."""

    name: str
    value: str
    applied: bool = True
    reason: str = ""

    def __str__(self) -> str:
        text = f'phrase "{self.value}"' if self.name == "phrase" else f"{self.name} {self.value}"
        return text if self.applied else f"{text}: {self.reason}; searched as text"


class Respelling(NamedTuple):
    """A word of the query and how the corpus writes it. `instead`: the corpus lacks the word as it was written."""

    word: str
    written: tuple[str, ...]
    instead: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """A query plan: everything that the query steps found out, for signals, fusion and stages."""

    text: str
    words: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    variants: Mapping[str, float] = field(default_factory=dict)  # other spellings for lexical search, weighted
    respelled: tuple[Respelling, ...] = ()
    intent: str = ""
    intent_words: tuple[str, ...] = ()
    intent_weight: float = 0.0  # weight of an intent word relative to a query word
    kind: str = "conceptual"
    length: str = "short"
    anchors: tuple[str, ...] = ()  # identifiers as written
    expansion: tuple[str, ...] = ()  # related terms, for semantic signals only
    sentences: tuple[str, ...] = ()  # its sentences, if it asks for several things: for semantic signals only
    operators: tuple[Operator, ...] = ()  # operators of the query, also those that do not apply
    only: tuple[str, ...] = ()  # the signals that may run; empty: all
    routed: tuple[RouteMatch, ...] = ()  # the router rules that matched
    weights: Mapping[str, float] = field(default_factory=dict)  # override the fusion's weights
    factors: Mapping[str, float] = field(default_factory=dict)  # multiply the weights
    condition: Condition = Condition()
    kinds: tuple[str, ...] = ()  # entity kinds allowed in the result of a registry search; empty: all
    top_n: int = 10
    pool: int = 100
    explain: bool = True  # whether evidence is needed
    now: datetime | None = None
    stop: Callable[[], bool] | None = None

    def weight(self, by: str, weights: Mapping[str, float], otherwise: float = 1.0) -> float:
        """Weight of a signal: from the plan, else from the fusion's settings."""
        return self.weights.get(by, weights.get(by, otherwise)) * self.factors.get(by, 1.0)

    def applied(self, operator: str) -> tuple[str, ...]:
        """Values of an operator of the query, as far as it applies."""
        return tuple(one.value for one in self.operators if one.name == operator and one.applied)

    @property
    def spelled_text(self) -> str:
        """The query with the words that the corpus lacks as the corpus writes them."""
        text = self.text
        for word, written, instead in self.respelled:
            if instead:
                pattern = r"[\s\-]+".join(map(re.escape, word.split()))
                text = re.sub(rf"\b{pattern}\b", " ".join(written), text, flags=re.IGNORECASE)
        return text

    @property
    def semantic_text(self) -> str:
        """Text to embed: the query, its related terms, and the intent if a step has weighted it."""
        intent = self.intent if self.intent_weight > 0 else ""
        return " ".join(part for part in (self.spelled_text, *self.expansion, intent) if part)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for the rank of a hit: one entry of `--explain`."""

    by: str  # the signal, fusion or stage
    rank: int  # its rank there, from 1
    score: float
    detail: Mapping[str, Any] = field(
        default_factory=dict, metadata={"flattened": True}
    )  # its keys are merged into the JSON object


def similarity(evidence: Iterable[Evidence]) -> float | None:
    """Cosine by the best model that has a vector of the hit itself, not an estimate."""
    cosines = {e.by: e.score for e in evidence if e.by in ("static", "dense") and not e.detail.get("estimated")}
    return cosines.get("dense", cosines.get("static"))


SURE = 0.85
"""From this confidence on, an answer is called sure."""


def confidence_words(confidence: float | None, no_good_match: bool) -> str:
    """A confidence in words: sure, likely or nothing fits; empty for a query that only filters."""
    if confidence is None:
        return ""
    return "nothing fits" if no_good_match else "sure" if confidence >= SURE else "likely"


class Hit(NamedTuple):
    """A ranked chunk. A tuple, since there are hundreds per query and it is created twice as fast as a dataclass."""

    chunk: ChunkId
    score: float
    evidence: tuple[Evidence, ...] = ()


S = TypeVar("S", bound=tuple[Any, ...])
_SCORE = itemgetter(1)
_HIT = partial(tuple.__new__, Hit)


def hits_of(scores: Iterable[tuple[ChunkId, float]]) -> list[Hit]:
    """Hits of chunk and score pairs. Twice as fast as one by one: no Python function is called for each."""
    return list(map(_HIT, [(chunk, score, ()) for chunk, score in scores]))


class Ceiling(NamedTuple):
    """Score ceiling: a vote lifts a hit at most to this share of the score of another hit, without such votes."""

    other: ChunkId
    share: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits in descending order of score, each chunk once; the position is the rank.

    `notes` is added to the evidence of a hit, such as that the score is an estimate. `filled` has the scores of chunks
    that other signals ranked and this one did not; a `whole` ranking has no score for any other chunk. `explain` gives
    the evidence of a fusion, computed only for the few hits that remain. `ceilings` limit the votes of this ranking
    (`engine.query.ceilings`).
    """

    by: str
    hits: tuple[Hit, ...] = ()
    notes: Mapping[ChunkId, Mapping[str, Any]] = field(default_factory=dict)
    filled: Mapping[ChunkId, float] = field(default_factory=dict)
    whole: bool = field(default=False, compare=False)
    explain: Callable[[Collection[ChunkId]], Mapping[ChunkId, Sequence[Evidence]]] | None = field(
        default=None, repr=False, compare=False
    )
    ceilings: Mapping[ChunkId, Ceiling] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _in_order(self.by, self.hits)
        if len({hit[0] for hit in self.hits}) != len(self.hits):
            raise ValueError(f"{self.by}: a chunk is ranked twice")

    @classmethod
    def of(
        cls,
        by: str,
        hits: Iterable[Hit],
        pool: int = 0,
        notes: Mapping[ChunkId, Mapping[str, Any]] | None = None,
        explain: Callable[[Collection[ChunkId]], Mapping[ChunkId, Sequence[Evidence]]] | None = None,
    ) -> Ranking:
        """A ranking of hits in any order; equal scores are ordered by id, so that an answer is repeatable.

        `pool` is the limit of the search: fewer hits mean that the ranking is `whole`.
        """
        ordered = _best_first(by, hits)
        return cls(by, tuple(ordered), notes or {}, whole=len(ordered) < pool, explain=explain)

    @classmethod
    def by_score(
        cls,
        by: str,
        scores: Mapping[ChunkId, float],
        explain: Callable[[Collection[ChunkId]], Mapping[ChunkId, Sequence[Evidence]]] | None = None,
    ) -> Ranking:
        """A ranking of scores by chunk."""
        return _unchecked(by, tuple(hits_of(_best_first(by, scores.items()))), explain=explain)

    def with_filled(self, filled: Mapping[ChunkId, float]) -> Ranking:
        return _unchecked(self.by, self.hits, self.notes, filled, self.whole, self.explain, self.ceilings)

    def unit(self, top_n: int | None = None) -> Ranking:
        """Scores scaled to 0 to 1, the best at 1.0; the order is unchanged."""
        hits = self.hits[:top_n]
        best = hits[0].score if hits else 1.0
        if best <= 0:
            return Ranking("unit", tuple(Hit(hit.chunk, 1.0, hit.evidence) for hit in hits))
        return Ranking("unit", tuple([Hit(hit.chunk, max(0.0, hit.score / best), hit.evidence) for hit in hits]))

    def explained(self, fused: Ranking | None = None) -> Ranking:
        """The ranking with the evidence of its fusion in front of the evidence of the stages."""
        fused = fused or self
        if fused.explain is None:
            return self
        evidence = fused.explain([hit.chunk for hit in self.hits])
        hits = (Hit(hit.chunk, hit.score, (*evidence[hit.chunk], *hit.evidence)) for hit in self.hits)
        return Ranking(self.by, tuple(hits), self.notes, self.filled)

    def reaching(self, share: float, least: int) -> int:
        """Number of first hits with at least this share of the best score, and never fewer than `least`; all if the
        best score is not positive."""
        if not self.hits or self.hits[0].score <= 0:
            return len(self.hits)
        limit = share * self.hits[0].score
        return max(least, sum(hit.score >= limit for hit in self.hits))

    def raised(
        self, by: str, gains: Mapping[ChunkId, float], notes: Mapping[ChunkId, Mapping[str, Any]] | None = None
    ) -> Ranking:
        """Add a bonus to some scores and record it in their evidence; equal scores keep their order."""
        raised = {chunk: gain for chunk, gain in gains.items() if gain}
        if not raised:
            return self
        scored = [Hit(hit[0], hit[1] + raised[hit[0]], hit[2]) if hit[0] in raised else hit for hit in self.hits]
        return _reordered(by, scored, {chunk: {"bonus": gain} for chunk, gain in raised.items()}, notes or {})

    def multiplied(
        self, by: str, factors: Mapping[ChunkId, float], notes: Mapping[ChunkId, Mapping[str, Any]] | None = None
    ) -> Ranking:
        """Multiply some scores by a factor and record it in their evidence; equal scores keep their order.

        A factor above 1 always raises: a negative score is divided by it.
        """
        moved = {chunk: factor for chunk, factor in factors.items() if factor != 1.0}
        if not moved:
            return self
        scored = []
        for hit in self.hits:
            if hit.chunk in moved:
                factor = moved[hit.chunk]
                hit = Hit(hit.chunk, hit.score * factor if hit.score >= 0 else hit.score / factor, hit.evidence)
            scored.append(hit)
        return _reordered(by, scored, {chunk: {"factor": factor} for chunk, factor in moved.items()}, notes or {})


def _reordered(
    by: str,
    scored: list[Hit],
    moved: Mapping[ChunkId, Mapping[str, Any]],
    notes: Mapping[ChunkId, Mapping[str, Any]],
) -> Ranking:
    """Ranking by the new scores, with evidence on the hits that were moved."""
    scored.sort(key=_SCORE, reverse=True)
    for place, (chunk, score, evidence) in enumerate(scored):
        if chunk in moved:
            detail = {**moved[chunk], **notes.get(chunk, {})}
            scored[place] = Hit(chunk, score, (*evidence, Evidence(by, place + 1, score, detail)))
    hits = tuple(scored)
    _in_order(by, hits)
    return _unchecked(by, hits)


def _best_first(by: str, scored: Iterable[S]) -> list[S]:
    """Tuples of chunk, score, ... sorted by score, equal scores by chunk."""
    ordered = sorted(scored, key=_SCORE, reverse=True)
    scores = [one[1] for one in ordered]
    if not all(map(gt, scores, (*scores[1:], -inf))):  # some are equal, or NaN
        ordered.sort(key=lambda one: (-one[1], one[0]))
        _in_order(by, ordered)
    return ordered


def _in_order(by: str, hits: Sequence[tuple[Any, ...]]) -> None:
    scores = [hit[1] for hit in hits]
    if not all(map(ge, scores, (*scores[1:], *scores[-1:]))):  # NaN fails too
        raise ValueError(f"{by}: hits are not in descending order")


def _unchecked(
    by: str,
    hits: tuple[Hit, ...],
    notes: Mapping[ChunkId, Mapping[str, Any]] | None = None,
    filled: Mapping[ChunkId, float] | None = None,
    whole: bool = False,
    explain: Callable[[Collection[ChunkId]], Mapping[ChunkId, Sequence[Evidence]]] | None = None,
    ceilings: Mapping[ChunkId, Ceiling] | None = None,
) -> Ranking:
    """A ranking without validation, for speed: each query makes a dozen, with a hundred hits and more."""
    ranking = object.__new__(Ranking)
    for name, value in zip(_FIELDS, (by, hits, notes or {}, filled or {}, whole, explain, ceilings or {}), strict=True):
        object.__setattr__(ranking, name, value)
    return ranking


_FIELDS = tuple(one.name for one in fields(Ranking))


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that failed, reported in the answer."""

    by: str  # the step
    reason: str
    hint: str = ""  # what to do about it


class _Placed:
    """Mixin for a passage with a place in its document."""

    __slots__ = ()
    place: Place

    @property
    def where(self) -> str:
        """Place for display: `:12`, `p. 3`, `slide 4`, `sheet Budget`, `#install`; empty: none."""
        return self.place.where

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line, from 1; none where there are no lines, as for an entity of a registry."""
        return self.place.lines


@dataclass(frozen=True, slots=True)
class Passage(_Placed):
    """A live chunk with the metadata of its document."""

    id: ChunkId
    document: DocId
    kind: str
    title: str
    path: str
    modified: datetime | None
    headings: tuple[str, ...]
    place: Place
    text: str
    created: str = ""  # ISO; empty: not known


@dataclass(frozen=True, slots=True)
class Result(_Placed):
    """A hit with its text and metadata."""

    id: ChunkId  # of the passage; `get` takes it
    document: DocId  # id of the document; `get` takes it too
    kind: str  # `document`, `commit`, or the kind of a registered entity
    title: str  # of the document
    headings: tuple[str, ...]  # headings above the passage, the outermost first
    path: str  # of the file, or its address
    place: Place  # where in the document it is
    text: str
    score: float  # 0 to 1, the best is 1
    fusion_score: float  # score before the stages
    similarity: float | None  # cosine by the best model that has a vector of it
    evidence: tuple[Evidence, ...]  # rank and score of each step that moved it
    created: str = ""  # date of the document, as ISO; empty: not known
    index: str = ""  # folder of its index, if several were searched


class FacetCount(NamedTuple):
    """A value that results can be filtered by, and how many of the documents found have it."""

    key: str  # kind, collection, tag or since
    value: str
    documents: int


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts of what was found. They are over the documents of all candidates, before the list is cut."""

    documents: int
    counts: tuple[FacetCount, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"documents": self.documents, "counts": [one._asdict() for one in self.counts]}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a search, the same from every face."""

    query: str
    mode: str  # the mode that was actually used
    recipe: str
    results: tuple[Result, ...]  # the best first
    failures: tuple[Failure, ...]  # steps that failed; the others have answered
    took_ms: float  # milliseconds
    timings: Mapping[str, float] = field(default_factory=dict)  # milliseconds of each step
    counts: Mapping[str, int] = field(default_factory=dict)  # candidates of each signal, results that a stage changed
    silent: Mapping[str, str] = option({}, "signals of the recipe that were not used, and why")
    confidence: float | None = option(
        None, "how likely one of the first three results answers the query; none: it only filters", least=0, most=1
    )
    no_good_match: bool = option(False, "no result fits: those listed are only the nearest")
    stale: int | None = option(None, "how many files changed since the last sync; none: nobody looked")
    spelling: tuple[Respelling, ...] = option((), "words of the query, and how the documents write them")
    expansion: tuple[str, ...] = option((), "related terms added to the query for semantic signals")
    routed: tuple[RouteMatch, ...] = option((), "router rules that matched, and what they added")
    operators: tuple[Operator, ...] = option((), "operators typed into the query, and whether they apply")
    confidence_words: str = option("", "the confidence in words: sure, likely or nothing fits; empty: it only filters")
    facets: Facets | None = option(None, "documents found by kind, collection, tag and date; none: not requested")
