"""Explains why a document is not in the results: the step that dropped it, and weights that would include it."""

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
"""Pool size for a document that no signal has in its normal pool."""
STEPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Weights to try."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The explanation. `place` is the step that has or dropped the document: result, cut, stage, first look,
    candidates, condition or index. `weights` are as in `[fusion.NAME.weights]`."""

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
        lines += [f"  a weight of {weight:g} for {name} would include it" for name, weight in self.weights.items()]
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
    """The id of a document by any name; an unknown name is returned as it is."""
    from watersmeet.engine.query.document_lookup import find_document

    try:
        return find_document(snapshot, document, viewer).document
    except Ambiguous:
        raise
    except NotFound:
        return document


def why_not(path: Pipeline, snapshot: Snapshot, outcome: Outcome, document: str, shown: int) -> WhyNot:
    """Explain why a document is not among the first `shown` results."""
    chunks = {passage.id for passage in snapshot.passages_of(DocId(document))} if is_text(document) else set()
    first = outcome.wide if isinstance(outcome, TwoStageOutcome) else outcome
    condition = first.plan.condition  # the condition of the request, not narrowed by the first stage
    if not chunks or not snapshot.only([DocId(document)], audience_only(condition)):
        return WhyNot(document, "index", "the index has no such document")
    place = _position(outcome.ranking.hits[:shown], chunks)
    if place is not None:
        return WhyNot(document, "result", f"it is result {place}", _ranks(outcome.rankings, chunks), place)
    if not snapshot.only([DocId(document)], condition):
        gated = not snapshot.only([DocId(document)], Condition(gates=condition.gates))
        reason = "it is deprecated, a draft or disabled" if gated else "the filters exclude it"
        return WhyNot(document, "condition", reason)
    if _position(first.fused.hits, chunks) is None:
        return _not_a_candidate(path, first, document, chunks)
    weights = _weights(path, outcome, DocId(document), chunks, shown)
    if isinstance(outcome, TwoStageOutcome):
        documents = outcome.path.documents(first.fused)
        rank, kept = documents.index(DocId(document)) + 1, outcome.path.settings.documents
        if rank > kept:
            reason = f"it is document {rank} of {len(documents)} in the first stage, which keeps {kept}"
            return WhyNot(document, "first look", reason, _ranks(first.rankings, chunks), rank, weights)
    fused = _position(outcome.fused.hits, chunks)
    if fused is None:
        return _not_a_candidate(path, outcome, document, chunks)
    ranks = _ranks(outcome.rankings, chunks)
    if fused <= shown:
        reason = f"fusion ranked it {fused}; a stage removed it"
        return WhyNot(document, "stage", reason, ranks, fused, weights)
    reason = f"it is number {fused} of {len(outcome.fused.hits)} candidates, and {shown} were requested"
    return WhyNot(document, "cut", reason, ranks, fused, weights)


def _not_a_candidate(path: Pipeline, outcome: Outcome, document: str, chunks: set[ChunkId]) -> WhyNot:
    """No signal has it in its pool: search deeper. Weights cannot help here."""
    deeper = replace(path, stages=()).run(replace(outcome.plan, pool=DEEP, explain=False))
    ranks = _ranks(
        [r for r in deeper.rankings if r.by not in path.follow], chunks
    )  # followers only rank candidates of others
    if not ranks:
        return WhyNot(document, "candidates", f"no signal finds it among its first {DEEP}")
    best = min(ranks, key=lambda name: ranks[name])
    reason = f"no signal has it among its first {outcome.plan.pool}; {best} ranks it highest, at {ranks[best]}"
    return WhyNot(document, "candidates", reason, ranks, _position(deeper.fused.hits, chunks))


def _weights(path: Pipeline, outcome: Outcome, document: DocId, chunks: set[ChunkId], shown: int) -> dict[str, float]:
    """For each signal the weight nearest to its present one that would include the document, all else unchanged.

    Empty if the fusion has no weights, or if a query step sets its own.
    """
    fusion: Any = path.fusion
    if not hasattr(fusion, "weights") or outcome.plan.weights:
        return {}
    fuse_again = _fuse_again(path, outcome, document)
    found: dict[str, float] = {}
    for by in [ranking.by for ranking in outcome.rankings]:
        for weight in sorted(STEPS, key=lambda step: abs(step - fusion.weights.get(by, 1.0))):
            ranking = fuse_again(replace(fusion, weights={**fusion.weights, by: weight}))
            if _position(ranking.hits[:shown], chunks) is not None:
                found[by] = weight
                break
    return found


def _fuse_again(path: Pipeline, outcome: Outcome, document: DocId) -> Callable[[Fusion], Ranking]:
    """A function from another fusion to the ranking; signals are not run again."""
    first = outcome.wide if isinstance(outcome, TwoStageOutcome) else outcome
    recorded = [(ranking.by, _RecordedSignal(ranking)) for ranking in first.rankings]
    again = replace(path, understand=(), signals=recorded, derived=(), follow={}, took={})
    plan = replace(first.plan, explain=False)

    def once(fusion: Fusion) -> Ranking:
        return replace(again, fusion=fusion).run(plan).ranking

    def twice(fusion: Fusion, path: TwoStage, original_plan: Plan) -> Ranking:
        documents = path.documents(replace(again, fusion=fusion, stages=()).run(plan).fused)[: path.settings.documents]
        if document not in documents:
            return Ranking("first look")
        return replace(path, pipeline=replace(path.pipeline, fusion=fusion)).within(documents, original_plan).ranking

    return (
        partial(twice, path=outcome.path, original_plan=outcome.original_plan)
        if isinstance(outcome, TwoStageOutcome)
        else once
    )


@dataclass(frozen=True, slots=True)
class _RecordedSignal:
    """A signal that returns a ranking made before."""

    ranking: Ranking

    def rank(self, plan: Plan) -> Ranking:
        return self.ranking

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return dict(self.ranking.filled)


def _ranks(rankings: Iterable[Ranking], chunks: set[ChunkId]) -> dict[str, int]:
    return {r.by: rank for r in rankings if (rank := _position(r.hits, chunks)) is not None}


def _position(hits: Sequence[Hit], chunks: set[ChunkId]) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if hit.chunk in chunks), None)
