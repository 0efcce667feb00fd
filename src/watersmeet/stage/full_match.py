"""Scores as a share of a full match: with keyword search only, the best hit may still be poor."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.boosts import MAX_BOOST
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class FullMatch:
    """A stage that divides scores by that of a full match, at most 1; the order is unchanged."""

    score: float = option(MAX_BOOST, "the score of a full match")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        scaled = (Hit(hit.chunk, max(0.0, min(1.0, hit.score / self.score)), hit.evidence) for hit in ranking.hits)
        return Ranking("full_match", tuple(scaled))
