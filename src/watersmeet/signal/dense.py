"""Dense signal: similarity by a transformer; slower to index than static, and clearly better."""

from __future__ import annotations

from collections.abc import Collection

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Plan, Ranking
from watersmeet.core.vector_signal import nearest, score
from watersmeet.core.vectors import VectorSearch


@dataclass(frozen=True, slots=True)
class Dense:
    """Cosine of the query vector and the chunk vector."""

    dense: VectorSearch

    def rank(self, plan: Plan) -> Ranking:
        return nearest("dense", self.dense, plan)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return score(self.dense, plan, ids)
