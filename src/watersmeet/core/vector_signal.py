"""Rankings by vector similarity: to the whole query and, if it has several parts, to the nearest part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from watersmeet.core.model import ChunkId, Plan, Ranking, hits_of
from watersmeet.core.vectors import ScoredChunk, VectorSearch


def nearest(by: str, search: VectorSearch, plan: Plan) -> Ranking:
    """The ranking of a semantic signal."""
    if not plan.words:  # a query of punctuation only
        return Ranking(by)
    return to_ranking(by, _blended(search.nearest(_texts(plan), plan.condition, plan.pool))[: plan.pool])


def score(search: VectorSearch, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
    return {chunk: cosine for chunk, cosine, _ in _blended(search.score(_texts(plan), ids))}


def _texts(plan: Plan) -> tuple[str, ...]:
    return plan.semantic_text, *plan.sentences


def _blended(found: Sequence[Sequence[ScoredChunk]]) -> Sequence[ScoredChunk]:
    """Mean of the cosine to the whole query and the cosine to the nearest part, best first."""
    whole, *parts = found
    if not parts:
        return whole
    cosines = [{scored.chunk: scored.cosine for scored in part} for part in parts]
    blended = [
        ScoredChunk(chunk, (cosine + max(part.get(chunk, cosine) for part in cosines)) / 2, estimated)
        for chunk, cosine, estimated in whole
    ]
    return sorted(blended, key=lambda scored: (-scored.cosine, scored.chunk))


def to_ranking(by: str, found: Iterable[ScoredChunk]) -> Ranking:
    """A ranking whose notes mark estimated scores."""
    scored = list(found)
    notes = {chunk: {"estimated": True} for chunk, _, estimated in scored if estimated}
    return Ranking.of(by, hits_of([one[:2] for one in scored]), notes=notes)
