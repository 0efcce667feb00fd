"""Scores as a share of a full match: where nothing but words is searched, the best hit may be a poor one."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.boosts import FULL
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class FullMatch:
    """The score over that of a full match, at most 1; the order stays as it is."""

    score: float = option(FULL, "the score of a full match")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        scaled = (Hit(hit.chunk, max(0.0, min(1.0, hit.score / self.score)), hit.evidence) for hit in ranking.hits)
        return Ranking("full_match", tuple(scaled))
