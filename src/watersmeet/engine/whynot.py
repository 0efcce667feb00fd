"""Why is a document not among the results? Where it fell out, and what weight would have brought it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import Ambiguous, NotFound
from watersmeet.core.model import ChunkId, Condition, DocId, Hit, Plan, Ranking
from watersmeet.engine.pipeline import Outcome, Pipeline
from watersmeet.engine.viewing import there
from watersmeet.store.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.core.entities import Viewer

DEEP = 5000
"""How far down each signal is searched for a document that it did not have in its pool."""
STEPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Weights that are tried."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """`place` is where the document is or fell out: result, cut, stage, candidates, condition or index."""

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


def known(view: SqliteView, document: str, viewer: Viewer | None) -> str:
    """The document that is asked about, by whatever name; what there is not keeps the name that it was asked by."""
    from watersmeet.engine.naming import meant

    try:
        return meant(view, document, viewer).document
    except Ambiguous:
        raise
    except NotFound:
        return document


def why_not(path: Pipeline, view: SqliteView, plan: Plan, outcome: Outcome, document: str) -> WhyNot:
    chunks = {passage.id for passage in view.passages_of(DocId(document))}
    if not chunks or not view.only([DocId(document)], there(plan.condition)):
        return WhyNot(document, "index", "the index has no such document")
    place = _position(outcome.ranking.hits, chunks)
    ranks = {r.by: rank for r in outcome.rankings if (rank := _position(r.hits, chunks)) is not None}
    if place is not None:
        return WhyNot(document, "result", f"it is result {place}", ranks, place)
    if not set(view.resolve(list(view.rows(chunks).values()), plan.condition).values()):
        kept_out = not view.only([DocId(document)], Condition(gates=plan.condition.gates))
        reason = "it is deprecated, a draft or disabled" if kept_out else "the filters leave it out"
        return WhyNot(document, "condition", reason)
    fused = _position(outcome.fused.hits, chunks)
    if fused is None:
        return _never_found(path, plan, outcome, document, chunks)
    weights = _weights(outcome.fused.told(), chunks, plan.top_n)
    if fused <= plan.top_n:
        reason = f"fusion put it at {fused}; a stage took it out"
        return WhyNot(document, "stage", reason, ranks, fused, weights)
    reason = f"it is at {fused} of {len(outcome.fused.hits)} candidates, and {plan.top_n} were asked for"
    return WhyNot(document, "cut", reason, ranks, fused, weights)


def _never_found(path: Pipeline, plan: Plan, outcome: Outcome, document: str, chunks: set[ChunkId]) -> WhyNot:
    """No signal had it in its pool: look further down."""
    deeper = replace(path, stages=()).run(replace(plan, pool=DEEP, told=False))
    found = [ranking for ranking in deeper.rankings if ranking.by not in path.follow]  # who follows finds nothing
    ranks = {r.by: rank for r in found if (rank := _position(r.hits, chunks)) is not None}
    fused = _position(deeper.fused.hits, chunks)
    if not ranks:
        return WhyNot(document, "candidates", f"no signal finds it among its first {DEEP}")
    pool = outcome.plan.pool
    best = min(ranks, key=lambda name: ranks[name])
    reason = f"no signal has it among its first {pool}; {best} comes closest, at {ranks[best]}"
    weights = _weights(deeper.fused.told(), chunks, plan.top_n)
    weights = {name: weight for name, weight in weights.items() if name not in path.follow}
    return WhyNot(document, "candidates", reason, ranks, fused, weights)


def _weights(fused: Ranking, chunks: set[ChunkId], top_n: int) -> dict[str, float]:
    """For each signal the weight nearest to its own that would bring the document in, all else as it is."""
    parts = {
        hit.chunk: {e.by: float(e.detail["contribution"]) for e in hit.evidence if "contribution" in e.detail}
        for hit in fused.hits
    }
    now = {e.by: float(e.detail["weight"]) for hit in fused.hits for e in hit.evidence if e.detail.get("weight")}
    found: dict[str, float] = {}
    for signal, weight in now.items():
        for other in sorted(STEPS, key=lambda step: abs(step - weight)):
            scores = {
                chunk: sum(part * (other / weight if by == signal else 1.0) for by, part in given.items())
                for chunk, given in parts.items()
            }
            first = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:top_n]
            if chunks.intersection(first):
                found[signal] = other
                break
    return found


def _position(hits: Sequence[Hit], chunks: set[ChunkId]) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if hit.chunk in chunks), None)
