"""What is near a query in meaning: as a whole, and where it asks for several things, to one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from watersmeet.core.model import ChunkId, Plan, Ranking, hits_of
from watersmeet.core.vectors import Meanings, Near


def nearest(by: str, meanings: Meanings, plan: Plan) -> Ranking:
    """The ranking of a semantic signal."""
    if not plan.words:  # a query of punctuation means nothing
        return Ranking(by)
    found = meanings.nearest(plan.semantic_text, plan.condition, plan.pool)
    if not plan.parts:
        return by_meaning(by, found)
    near = {one.chunk for part in plan.parts for one in meanings.nearest(part, plan.condition, plan.pool)}
    both = sorted(_scored(meanings, plan, near.union(one.chunk for one in found)), key=lambda n: (-n.cosine, n.chunk))
    return by_meaning(by, both[: plan.pool])


def score(meanings: Meanings, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
    return {chunk: cosine for chunk, cosine, _ in _scored(meanings, plan, ids)}


def _scored(meanings: Meanings, plan: Plan, ids: Collection[ChunkId]) -> Iterable[Near]:
    """Half as near as it is to the whole query, half as near as it is to the nearest part."""
    whole = meanings.score(plan.semantic_text, ids)
    if not plan.parts:
        return whole
    parts = [{near.chunk: near.cosine for near in meanings.score(part, ids)} for part in plan.parts]
    return [
        Near(chunk, (cosine + max(part.get(chunk, cosine) for part in parts)) / 2, estimated)
        for chunk, cosine, estimated in whole
    ]


def by_meaning(by: str, found: Iterable[Near]) -> Ranking:
    """A ranking that says which scores are estimates."""
    near = list(found)
    notes = {chunk: {"estimated": True} for chunk, _, estimated in near if estimated}
    return Ranking.of(by, hits_of([one[:2] for one in near]), notes=notes)
