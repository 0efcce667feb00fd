"""What is near in meaning, by a transformer: slower to index, clearly better."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from watersmeet.core.meaning import by_meaning
from watersmeet.core.model import ChunkId, Plan, Ranking
from watersmeet.core.vectors import Meanings


@dataclass(frozen=True, slots=True)
class Dense:
    """Cosine of the query's vector and the chunk's."""

    dense: Meanings

    def rank(self, plan: Plan) -> Ranking:
        if not plan.words:  # a query of punctuation means nothing
            return Ranking("dense")
        return by_meaning("dense", self.dense.nearest(plan.semantic_text, plan.condition, plan.pool))

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return {near.chunk: near.cosine for near in self.dense.score(plan.semantic_text, ids)}
