"""Static signal: similarity by a table of token vectors; fast, and available at once."""

from __future__ import annotations

from collections.abc import Collection

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Plan, Ranking
from watersmeet.core.vector_signal import nearest, score
from watersmeet.core.vectors import VectorSearch


@dataclass(frozen=True, slots=True)
class Static:
    """Cosine of the query vector and the chunk vector."""

    static: VectorSearch

    def rank(self, plan: Plan) -> Ranking:
        return nearest("static", self.static, plan)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return score(self.static, plan, ids)
