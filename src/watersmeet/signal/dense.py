"""Dense signal: similarity by a transformer; slower to index than static, and clearly better."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from watersmeet.core.model import ChunkId, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.vector_signal import nearest, score
from watersmeet.core.vectors import VectorSearch


@dataclass(frozen=True, slots=True)
class Dense:
    """Cosine of the query vector and the chunk vector.

    Some chunks are near every query, such as introductions and one-line sections. `less_general` makes up for that.
    """

    dense: VectorSearch
    less_general: float = option(0.0, "share of what all queries have in common that does not count", least=0)

    def rank(self, plan: Plan) -> Ranking:
        return nearest("dense", self.dense, plan, self.less_general)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return score(self.dense, plan, ids, self.less_general)
