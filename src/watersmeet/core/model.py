"""The nouns of the pipeline: frozen, standard library only, no behaviour beyond their own invariants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from math import inf
from operator import ge, gt, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, NewType, TypeVar

from watersmeet.core.options import option
from watersmeet.core.place import Place

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer

DocId = NewType("DocId", str)
ChunkId = NewType("ChunkId", str)
Row = NewType("Row", int)
"""The number of one version of one chunk: never used again, and never seen outside the index."""

Fields = Mapping[str, Any]
"""Front matter or metadata: JSON values by name."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a result must satisfy: AND between keys, OR within one, and a span of time."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    since: datetime | None = None
    before: datetime | None = None
    also: tuple[tuple[str, tuple[str, ...]], ...] = ()  # further keys with their values, where a key comes again
    without: tuple[tuple[str, tuple[str, ...]], ...] = ()  # keys with values of which a result may have none
    gates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """A document that has such a facet must have one of these values; one without it passes."""

    def __bool__(self) -> bool:
        return self.has_filters or bool(self.gates)

    @property
    def has_filters(self) -> bool:
        """Whether the asker wants something; gates are there unasked."""
        return bool(self.fields or self.also or self.without) or self.since is not None or self.before is not None

    def narrowed(self, key: str, values: tuple[str, ...]) -> Condition:
        """This, and one of these values for the key; saying it twice changes nothing."""
        if self.fields.get(key) == values or (key, values) in self.also:
            return self
        if key not in self.fields:
            return replace(self, fields={**self.fields, key: values})
        return replace(self, also=(*self.also, (key, values)))


ANY = Condition()


@dataclass(frozen=True, slots=True)
class Request:
    """What the asker wants, as every face passes it on."""

    query: str
    mode: str = ""  # empty: the best that the index can do
    recipe: str = ""  # empty: what the settings say
    top_n: int = 10
    condition: Condition = Condition()
    intent: str = ""
    strict: bool = False
    viewer: Viewer | None = None  # none: whoever owns the index
    stop: Callable[[], bool] | None = None  # asked between steps: whether nobody waits for it any more
    now: datetime | None = None  # by which what is recent is judged; none: the clock
    min_score: float = 0.0  # results below it are left out; the best has 1
    min_confidence: float = 0.0  # an answer that is less sure has no results
    one_per_document: bool = False
    expand: str = ""  # each result with the whole of its section or page: one of EXPANSIONS
    expand_tokens: int | None = None  # ... as far as so many tokens hold


EXPANSIONS = ("section", "page")


class RouteMatch(NamedTuple):
    """A rule of the router that matched the query, by its number and its pattern, and what it added to the plan."""

    rule: int
    match: str
    filters: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]
    only: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A query after understanding: everything that later steps may know about it."""

    text: str
    words: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    intent: str = ""
    intent_words: tuple[str, ...] = ()
    intent_weight: float = 0.0  # what the intent's words count for beside the query's own
    kind: str = "conceptual"
    length: str = "short"
    anchors: tuple[str, ...] = ()  # identifiers as they are written
    expansion: tuple[str, ...] = ()  # related terms, for meaning only
    sentences: tuple[str, ...] = ()  # its sentences, where it asks for several things: for meaning only
    only: tuple[str, ...] = ()  # the signals that may run; empty: all
    routed: tuple[RouteMatch, ...] = ()  # the rules of the router that matched
    weights: Mapping[str, float] = field(default_factory=dict)  # instead of the fusion's own
    factors: Mapping[str, float] = field(default_factory=dict)  # on top of the weights
    condition: Condition = Condition()
    kinds: tuple[str, ...] = ()  # of a registry: the kinds that may be in the result; empty: all
    top_n: int = 10
    pool: int = 100
    explain: bool = True  # whether anyone will ask why a hit is where it is
    now: datetime | None = None
    stop: Callable[[], bool] | None = None

    def weight(self, by: str, weights: Mapping[str, float], otherwise: float = 1.0) -> float:
        """What a signal counts for: as the plan says, else as the fusion's settings do."""
        return self.weights.get(by, weights.get(by, otherwise)) * self.factors.get(by, 1.0)

    @property
    def semantic_text(self) -> str:
        """What is embedded: the query, its related terms, and the intent once a step has weighed it."""
        intent = self.intent if self.intent_weight > 0 else ""
        return " ".join(part for part in (self.text, *self.expansion, intent) if part)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a hit is where it is: one entry of `--explain`."""

    by: str
    rank: int
    score: float
    detail: Mapping[str, Any] = field(default_factory=dict, metadata={"flattened": True})  # JSON has its keys beside


def similarity(evidence: Iterable[Evidence]) -> float | None:
    """The cosine by the best model that has seen the hit itself."""
    seen = {e.by: e.score for e in evidence if e.by in ("static", "dense") and not e.detail.get("estimated")}
    return seen.get("dense", seen.get("static"))


class Hit(NamedTuple):
    """There are hundreds for each query: a tuple is made twice as fast as a dataclass."""

    chunk: ChunkId
    score: float
    evidence: tuple[Evidence, ...] = ()


S = TypeVar("S", bound=tuple[Any, ...])
_SCORE = itemgetter(1)
_HIT = partial(tuple.__new__, Hit)


def hits_of(scores: Iterable[tuple[ChunkId, float]]) -> list[Hit]:
    """Twice as fast as one by one: no function of Python is called for each."""
    return list(map(_HIT, [(chunk, score, ()) for chunk, score in scores]))


class Ceiling(NamedTuple):
    """A vote for a hit counts only up to a share of what another hit has without such votes."""

    other: ChunkId
    share: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits in descending order of score, each chunk once; the position is the rank.

    `notes` is what a signal wants said of a hit in its evidence, such as that the score is an estimate. `filled` has
    the scores of chunks that others ranked and this signal did not; if the ranking is `whole`, it has none for any
    other. `tell` gives the evidence of a fusion, which is made for the few hits that remain. `ceilings` are those of
    votes that must not lift a hit above the one that it is there for (`engine.query.ceilings`).
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
        """Hits in any order; equal scores are told apart by id, so that an answer is repeatable.

        `pool`: how many there would be at most, if all that can be found were among them.
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
        """The same of a mapping, where no chunk can be twice."""
        return _known_good(by, tuple(hits_of(_best_first(by, scores.items()))), explain=explain)

    def with_filled(self, filled: Mapping[ChunkId, float]) -> Ranking:
        return _known_good(self.by, self.hits, self.notes, filled, self.whole, self.explain, self.ceilings)

    def unit(self, top_n: int | None = None) -> Ranking:
        """Scores from 0 to 1, the best at 1.0; the order stays as it is."""
        hits = self.hits[:top_n]
        best = hits[0].score if hits else 1.0
        if best <= 0:
            return Ranking("unit", tuple(Hit(hit.chunk, 1.0, hit.evidence) for hit in hits))
        return Ranking("unit", tuple([Hit(hit.chunk, max(0.0, hit.score / best), hit.evidence) for hit in hits]))

    def explained(self, fused: Ranking | None = None) -> Ranking:
        """With the evidence of the fusion that it comes from, before what stages said since."""
        fused = fused or self
        if fused.explain is None:
            return self
        evidence = fused.explain([hit.chunk for hit in self.hits])
        hits = (Hit(hit.chunk, hit.score, (*evidence[hit.chunk], *hit.evidence)) for hit in self.hits)
        return Ranking(self.by, tuple(hits), self.notes, self.filled)

    def reaching(self, share: float, least: int) -> int:
        """How many of the first hits have this share of the best score, and never fewer than `least`; all, if the best
        has none."""
        if not self.hits or self.hits[0].score <= 0:
            return len(self.hits)
        limit = share * self.hits[0].score
        return max(least, sum(hit.score >= limit for hit in self.hits))

    def raised(
        self, by: str, gains: Mapping[ChunkId, float], notes: Mapping[ChunkId, Mapping[str, Any]] | None = None
    ) -> Ranking:
        """Some scores plus a bonus, which is added to those hits' evidence; equal scores stay in their order."""
        raised = {chunk: gain for chunk, gain in gains.items() if gain}
        if not raised:
            return self
        scored = [Hit(hit[0], hit[1] + raised[hit[0]], hit[2]) if hit[0] in raised else hit for hit in self.hits]
        return _reordered(by, scored, {chunk: {"bonus": gain} for chunk, gain in raised.items()}, notes or {})

    def multiplied(
        self, by: str, factors: Mapping[ChunkId, float], notes: Mapping[ChunkId, Mapping[str, Any]] | None = None
    ) -> Ranking:
        """Some scores times a factor, which is added to those hits' evidence; equal scores stay in their order.

        A factor above 1 always lifts: a score below 0 is divided by it.
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
    """Hits by their new scores; those that were moved say by what."""
    scored.sort(key=_SCORE, reverse=True)
    for place, (chunk, score, evidence) in enumerate(scored):
        if chunk in moved:
            detail = {**moved[chunk], **notes.get(chunk, {})}
            scored[place] = Hit(chunk, score, (*evidence, Evidence(by, place + 1, score, detail)))
    hits = tuple(scored)
    _in_order(by, hits)
    return _known_good(by, hits)


def _best_first(by: str, scored: Iterable[S]) -> list[S]:
    """Anything that begins with a chunk and its score."""
    ordered = sorted(scored, key=_SCORE, reverse=True)
    scores = [one[1] for one in ordered]
    if not all(map(gt, scores, (*scores[1:], -inf))):  # some are equal, or no number
        ordered.sort(key=lambda one: (-one[1], one[0]))
        _in_order(by, ordered)
    return ordered


def _in_order(by: str, hits: Sequence[tuple[Any, ...]]) -> None:
    scores = [hit[1] for hit in hits]
    if not all(map(ge, scores, (*scores[1:], *scores[-1:]))):  # nor is what is no number, not even beside itself
        raise ValueError(f"{by}: hits are not in descending order")


def _known_good(
    by: str,
    hits: tuple[Hit, ...],
    notes: Mapping[ChunkId, Mapping[str, Any]] | None = None,
    filled: Mapping[ChunkId, float] | None = None,
    whole: bool = False,
    explain: Callable[[Collection[ChunkId]], Mapping[ChunkId, Sequence[Evidence]]] | None = None,
    ceilings: Mapping[ChunkId, Ceiling] | None = None,
) -> Ranking:
    """A ranking that need not be looked through: there are a dozen for each query, of a hundred hits and more."""
    made = object.__new__(Ranking)
    for name, value in zip(_FIELDS, (by, hits, notes or {}, filled or {}, whole, explain, ceilings or {}), strict=True):
        object.__setattr__(made, name, value)
    return made


_FIELDS = tuple(one.name for one in fields(Ranking))


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that could not run, named in the answer rather than hidden."""

    by: str
    reason: str
    hint: str = ""


class _Placed:
    """What stands at a place of its document."""

    __slots__ = ()
    place: Place

    @property
    def where(self) -> str:
        """The place for showing: `:12`, `p. 3`, `slide 4`, `sheet Budget`, `#install`; empty: none."""
        return self.place.where

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last, from 1; none of what stands in no lines, such as an entity of a registry."""
        return self.place.lines


@dataclass(frozen=True, slots=True)
class Passage(_Placed):
    """A live chunk with what a reader needs to know of its document."""

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
    """A hit with what its reader needs."""

    id: ChunkId
    document: DocId
    kind: str
    title: str
    headings: tuple[str, ...]
    path: str
    place: Place
    text: str
    score: float  # 0 to 1, the best is 1
    fusion_score: float  # before the stages
    similarity: float | None  # the cosine by the best model that has seen it
    evidence: tuple[Evidence, ...]
    created: str = ""
    index: str = ""  # the folder of its index, where several were asked


@dataclass(frozen=True, slots=True)
class Answer:
    """What every face gives back for a search."""

    query: str
    mode: str  # what really ran
    recipe: str
    results: tuple[Result, ...]
    failures: tuple[Failure, ...]
    took_ms: float
    timings: Mapping[str, float] = field(default_factory=dict)
    silent: Mapping[str, str] = option({}, "signals of the recipe that did not vote, and why")
    confidence: float | None = option(
        None, "how likely one of the first three results answers the query; none: it only filters", least=0, most=1
    )
    no_good_match: bool = option(False, "nothing fits: what is listed is merely the nearest")
    expansion: tuple[str, ...] = option((), "related terms that were looked for by meaning")
    routed: tuple[RouteMatch, ...] = option((), "the rules of the router that matched, and what they added")
