"""Why is a document not among the results? Where it fell out, and what weight would have brought it in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import Ambiguous, NotFound
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ChunkId, Condition, DocId, Hit, Plan, Ranking
from watersmeet.core.names import is_text
from watersmeet.core.ports import Fusion
from watersmeet.engine.query.pipeline import Outcome, Pipeline
from watersmeet.engine.query.two_stage import TwoStage, TwoStageOutcome
from watersmeet.engine.query.visibility import audience_only

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer

DEEP = 5000
"""How far down each signal is searched for a document that it did not have in its pool."""
STEPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Weights that are tried."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """`place` is where the document is or fell out: result, cut, stage, first look, candidates,
    condition or index; `weights` are as `[fusion.NAME.weights]` has them."""

    document: str
    place: str
    reason: str
    ranks: Mapping[str, int] = field(default_factory=dict)
    rank: int | None = None
    weights: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.document}: {self.reason}"]
        if self.ranks:
            lines.append("  ranked by " + ", ".join(f"{name}#{rank}" for name, rank in self.ranks.items()))
        lines += [f"  a weight of {weight:g} for {name} would bring it in" for name, weight in self.weights.items()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "document": self.document,
            "place": self.place,
            "reason": self.reason,
            "ranks": dict(self.ranks),
            "rank": self.rank,
            "weights": dict(self.weights),
        }


def resolve_document(snapshot: Snapshot, document: str, viewer: Viewer | None) -> str:
    """The document that is asked about, by whatever name; what there is not keeps the name that it was asked by."""
    from watersmeet.engine.query.document_lookup import find_document

    try:
        return find_document(snapshot, document, viewer).document
    except Ambiguous:
        raise
    except NotFound:
        return document


def why_not(path: Pipeline, snapshot: Snapshot, outcome: Outcome, document: str, shown: int) -> WhyNot:
    """`shown`: how many of the results are shown."""
    chunks = {passage.id for passage in snapshot.passages_of(DocId(document))} if is_text(document) else set()
    first = outcome.wide if isinstance(outcome, TwoStageOutcome) else outcome
    condition = first.plan.condition  # what is asked for, not what a first look has narrowed it to
    if not chunks or not snapshot.only([DocId(document)], audience_only(condition)):
        return WhyNot(document, "index", "the index has no such document")
    place = _position(outcome.ranking.hits[:shown], chunks)
    if place is not None:
        return WhyNot(document, "result", f"it is result {place}", _ranks(outcome.rankings, chunks), place)
    if not snapshot.only([DocId(document)], condition):
        kept_out = not snapshot.only([DocId(document)], Condition(gates=condition.gates))
        reason = "it is deprecated, a draft or disabled" if kept_out else "the filters leave it out"
        return WhyNot(document, "condition", reason)
    if _position(first.fused.hits, chunks) is None:
        return _never_found(path, first, document, chunks)
    weights = _weights(path, outcome, DocId(document), chunks, shown)
    if isinstance(outcome, TwoStageOutcome):
        documents = outcome.path.documents(first.fused)
        rank, kept = documents.index(DocId(document)) + 1, outcome.path.settings.documents
        if rank > kept:
            reason = f"it is at {rank} of {len(documents)} documents in the first look, which keeps {kept}"
            return WhyNot(document, "first look", reason, _ranks(first.rankings, chunks), rank, weights)
    fused = _position(outcome.fused.hits, chunks)
    if fused is None:
        return _never_found(path, outcome, document, chunks)
    ranks = _ranks(outcome.rankings, chunks)
    if fused <= shown:
        reason = f"fusion put it at {fused}; a stage took it out"
        return WhyNot(document, "stage", reason, ranks, fused, weights)
    reason = f"it is at {fused} of {len(outcome.fused.hits)} candidates, and {shown} were asked for"
    return WhyNot(document, "cut", reason, ranks, fused, weights)


def _never_found(path: Pipeline, outcome: Outcome, document: str, chunks: set[ChunkId]) -> WhyNot:
    """No signal had it in its pool: look further down. No weight helps what is not there to be weighed."""
    deeper = replace(path, stages=()).run(replace(outcome.plan, pool=DEEP, explain=False))
    ranks = _ranks([r for r in deeper.rankings if r.by not in path.follow], chunks)  # who follows finds nothing
    if not ranks:
        return WhyNot(document, "candidates", f"no signal finds it among its first {DEEP}")
    best = min(ranks, key=lambda name: ranks[name])
    reason = f"no signal has it among its first {outcome.plan.pool}; {best} comes closest, at {ranks[best]}"
    return WhyNot(document, "candidates", reason, ranks, _position(deeper.fused.hits, chunks))


def _weights(path: Pipeline, outcome: Outcome, document: DocId, chunks: set[ChunkId], shown: int) -> dict[str, float]:
    """For each signal the weight nearest to its own that, if it is set, brings the document in, all else as it is.

    None where the fusion has no weights, or where a step of understanding puts its own before those that are set.
    """
    fusion: Any = path.fusion
    if not hasattr(fusion, "weights") or outcome.plan.weights:
        return {}
    look = _looking_again(path, outcome, document)
    found: dict[str, float] = {}
    for by in [ranking.by for ranking in outcome.rankings]:
        for weight in sorted(STEPS, key=lambda step: abs(step - fusion.weights.get(by, 1.0))):
            ranking = look(replace(fusion, weights={**fusion.weights, by: weight}))
            if _position(ranking.hits[:shown], chunks) is not None:
                found[by] = weight
                break
    return found


def _looking_again(path: Pipeline, outcome: Outcome, document: DocId) -> Callable[[Fusion], Ranking]:
    """What the answer would be with another fusion; signals that have spoken are not asked again."""
    first = outcome.wide if isinstance(outcome, TwoStageOutcome) else outcome
    said = [(ranking.by, _Said(ranking)) for ranking in first.rankings]
    again = replace(path, understand=(), signals=said, derived=(), follow={}, took={})
    plan = replace(first.plan, explain=False)

    def once(fusion: Fusion) -> Ranking:
        return replace(again, fusion=fusion).run(plan).ranking

    def twice(fusion: Fusion, path: TwoStage, asked: Plan) -> Ranking:
        documents = path.documents(replace(again, fusion=fusion, stages=()).run(plan).fused)[: path.settings.documents]
        if document not in documents:
            return Ranking("first look")
        return replace(path, pipeline=replace(path.pipeline, fusion=fusion)).within(documents, asked).ranking

    return partial(twice, path=outcome.path, asked=outcome.asked) if isinstance(outcome, TwoStageOutcome) else once


@dataclass(frozen=True, slots=True)
class _Said:
    """A signal that says again what it said."""

    ranking: Ranking

    def rank(self, plan: Plan) -> Ranking:
        return self.ranking

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return dict(self.ranking.filled)


def _ranks(rankings: Iterable[Ranking], chunks: set[ChunkId]) -> dict[str, int]:
    return {r.by: rank for r in rankings if (rank := _position(r.hits, chunks)) is not None}


def _position(hits: Sequence[Hit], chunks: set[ChunkId]) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if hit.chunk in chunks), None)
