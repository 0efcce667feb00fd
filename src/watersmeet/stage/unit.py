"""Scores from 0 to 1, the best at 1.0; the order stays as it is."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import Hit, Plan, Ranking


@dataclass(frozen=True, slots=True)
class Unit:
    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if not ranking.hits:
            return ranking
        best = ranking.hits[0].score
        if best <= 0:
            return Ranking("unit", tuple(Hit(hit.chunk, 1.0, hit.evidence) for hit in ranking.hits))
        return Ranking("unit", tuple(Hit(h.chunk, max(0.0, h.score / best), h.evidence) for h in ranking.hits))
