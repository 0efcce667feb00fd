"""Sparse signal: weighted terms with learned or related expansion."""

from __future__ import annotations

from collections.abc import Collection

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Plan, Ranking
from watersmeet.core.vector_signal import to_ranking
from watersmeet.core.vectors import VectorSearch


@dataclass(frozen=True, slots=True)
class Sparse:
    """Dot product of the weighted terms of the query and of the chunk."""

    sparse: VectorSearch

    def rank(self, plan: Plan) -> Ranking:
        if not plan.words:  # a query of punctuation only
            return Ranking("sparse")
        return to_ranking("sparse", self.sparse.nearest([plan.semantic_text], plan.condition, plan.pool)[0])

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return {scored.chunk: scored.cosine for scored in self.sparse.score([plan.semantic_text], ids)[0]}
