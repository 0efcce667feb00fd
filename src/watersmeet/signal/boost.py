"""Boost signal: places in which a registry entity mentions the query, each counted once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from watersmeet.core.boosts import boost, place_names, query_words
from watersmeet.core.model import ChunkId, Hit, Plan, Ranking
from watersmeet.core.ports import Entities


@dataclass(frozen=True, slots=True)
class Boost:
    """Boost of 5 for the path, 3 for the name, 2 for the description, 1.5 for tags, 1 for metadata and each tool."""

    entities: Entities

    def rank(self, plan: Plan) -> Ranking:
        found = self.entities.mentioning(query_words(plan.text), plan.condition, plan.pool)
        hits = tuple(Hit(chunk, boost(places)) for chunk, places, _ in found)
        notes = {chunk: {"places": place_names(places), "words": words} for chunk, places, words in found}
        return Ranking("boost", hits, notes)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        found = self.entities.mentions(query_words(plan.text), ids)
        return {chunk: boost(places) for chunk, places, _ in found}
