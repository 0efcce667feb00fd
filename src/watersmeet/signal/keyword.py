"""How many of the query's words a chunk holds: a match quality from 0 to 1, whatever their rarity."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from watersmeet.core.model import ChunkId, Hit, Plan, Ranking
from watersmeet.core.ports import Term, Words


@dataclass(frozen=True, slots=True)
class Keyword:
    """The share of the query's words that occur; one that holds them all has 1.0."""

    words: Words

    def rank(self, plan: Plan) -> Ranking:
        found = self.words.match(self._terms(plan), plan.condition, plan.pool)
        ranking = Ranking.of("keyword", (Hit(chunk, min(1.0, score)) for chunk, score in found), plan.pool)
        return replace(ranking, notes={hit.chunk: {"keyword_score": hit.score} for hit in ranking.hits})

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return {chunk: min(1.0, score) for chunk, score in self.words.score(self._terms(plan), ids).items()}

    def _terms(self, plan: Plan) -> list[Term]:
        return [Term("body", word, 1 / len(plan.words), constant=True) for word in plan.words]
