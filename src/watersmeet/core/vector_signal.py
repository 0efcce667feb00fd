"""What is near a query in meaning: as a whole, and where it asks for several things, to one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from watersmeet.core.model import ChunkId, Plan, Ranking, hits_of
from watersmeet.core.vectors import ScoredChunk, VectorSearch


def nearest(by: str, meanings: VectorSearch, plan: Plan) -> Ranking:
    """The ranking of a semantic signal."""
    if not plan.words:  # a query of punctuation means nothing
        return Ranking(by)
    return to_ranking(by, _blended(meanings.nearest(_texts(plan), plan.condition, plan.pool))[: plan.pool])


def score(meanings: VectorSearch, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
    return {chunk: cosine for chunk, cosine, _ in _blended(meanings.score(_texts(plan), ids))}


def _texts(plan: Plan) -> tuple[str, ...]:
    return plan.semantic_text, *plan.sentences


def _blended(found: Sequence[Sequence[ScoredChunk]]) -> Sequence[ScoredChunk]:
    """Half as near as it is to the whole query, half as near as it is to the nearest part: the best first."""
    whole, *parts = found
    if not parts:
        return whole
    cosines = [{near.chunk: near.cosine for near in part} for part in parts]
    both = [
        ScoredChunk(chunk, (cosine + max(part.get(chunk, cosine) for part in cosines)) / 2, estimated)
        for chunk, cosine, estimated in whole
    ]
    return sorted(both, key=lambda near: (-near.cosine, near.chunk))


def to_ranking(by: str, found: Iterable[ScoredChunk]) -> Ranking:
    """A ranking that says which scores are estimates."""
    near = list(found)
    notes = {chunk: {"estimated": True} for chunk, _, estimated in near if estimated}
    return Ranking.of(by, hits_of([one[:2] for one in near]), notes=notes)
