"""Deduplication of near-identical passages."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.near_copies import MIN_SIMILARITY, near_copies
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader


@dataclass(frozen=True, slots=True)
class Dedupe:
    """A stage that drops hits that repeat a better one, and notes them in that one."""

    view: PassageReader
    min_similarity: float = option(
        MIN_SIMILARITY, "two texts with at least this share of common three-word runs are the same"
    )
    depth: int = option(5, "how many hits to compare, for each requested result")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        head = ranking.hits[: self.depth * plan.top_n]
        if len(head) < 2:
            return ranking
        passages = self.view.passages([hit.chunk for hit in head])
        keeper = near_copies([passages[hit.chunk] for hit in head], self.min_similarity)
        dropped: dict[ChunkId, list[ChunkId]] = {}
        for chunk, kept in keeper.items():
            dropped.setdefault(kept, []).append(chunk)
        hits: list[Hit] = []
        for hit in ranking.hits:
            if hit.chunk in dropped:
                detail = {"dropped": dropped[hit.chunk]}
                hit = hit._replace(evidence=(*hit.evidence, Evidence("dedupe", len(hits) + 1, hit.score, detail)))
            if hit.chunk not in keeper:
                hits.append(hit)
        return Ranking("dedupe", tuple(hits))
