"""Keyword signal: share of the query words that a chunk contains, from 0 to 1, regardless of rarity."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from watersmeet.core.model import ChunkId, Hit, Plan, Ranking
from watersmeet.core.ports import Term, Words


@dataclass(frozen=True, slots=True)
class Keyword:
    """Share of the query words that occur; 1.0 if all do."""

    words: Words

    def rank(self, plan: Plan) -> Ranking:
        found = self.words.match(self._terms(plan), plan.condition, plan.pool)
        ranking = Ranking.of("keyword", (Hit(chunk, min(1.0, score)) for chunk, score in found), plan.pool)
        return replace(ranking, notes={hit.chunk: {"keyword_score": hit.score} for hit in ranking.hits})

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return {chunk: min(1.0, score) for chunk, score in self.words.score(self._terms(plan), ids).items()}

    def _terms(self, plan: Plan) -> list[Term]:
        return [Term("body", word, 1 / len(plan.words), constant=True) for word in plan.words]
