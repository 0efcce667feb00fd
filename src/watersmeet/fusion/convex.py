"""Convex combination of scaled scores (Bruch, Gai and Ingber, TOIS 2023), with every candidate scored by all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Evidence, Plan, Ranking
from watersmeet.core.options import check_weights, option
from watersmeet.core.statistics import deviation, lead

SCALES = ("spread", "min_max", "floor_max", "raw")
SPAN = 4.0
"""Standard deviations that are 1 on the scale `spread`."""
MAX_LEAD_EXPONENT = 0.8
"""The lead of the first result changes a weight by at most a factor of e to this power."""


class _Vote(NamedTuple):
    """A ranking, its weight, the offset and divisor of its scores, and all its scores."""

    ranking: Ranking
    weight: float
    low: float
    span: float
    scores: Mapping[ChunkId, float]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Convex:
    """Weighted mean of the scaled scores of each signal for all candidates; the weights sum to 1."""

    weights: Mapping[str, float] = option({}, "weight of each signal; 1 where none is given")
    scale: str = option(
        "min_max",
        "min_max: lowest 0, highest 1; floor_max: nothing 0, highest 1; spread: lowest 0, four standard deviations 1;"
        " raw: as it is",
    )
    scales: Mapping[str, str] = option({}, "the scale of single signals, where it is another")
    peak: float = option(0.0, "how much more a signal counts whose first result is far ahead of its others; 0: not")
    usual_lead: Mapping[str, float] = option({}, "the usual lead of each signal's first result, in standard deviations")

    fills: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, scale in (("scale", self.scale), *((f"scales.{by}", each) for by, each in self.scales.items())):
            if scale not in SCALES:
                raise ConfigError(f"fusion.convex.{name} cannot be {scale!r}", nearest(scale, SCALES))
        check_weights("fusion.convex.weights", self.weights)

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        votes = self.votes(rankings, plan)
        fused: dict[ChunkId, float] = {}
        for _, weight, low, span, scores in votes:
            fused |= {chunk: fused.get(chunk, 0.0) + weight * ((v - low) / span) for chunk, v in scores.items()}
        return Ranking.by_score("convex", fused, partial(_evidence, votes))

    def votes(self, rankings: Sequence[Ranking], plan: Plan) -> list[_Vote]:
        """Weight of each signal for this query, and the scale of its scores."""
        weights = {ranking.by: plan.weight(ranking.by, self.weights) for ranking in rankings}
        voting = sorted((r for r in rankings if r.hits and weights[r.by] > 0), key=lambda r: r.by)
        ranked = [{hit[0]: hit[1] for hit in ranking.hits} for ranking in voting]
        candidates = set().union(*ranked)
        votes = []
        for ranking, scores in zip(voting, ranked, strict=True):
            filled = ranking.filled
            if not filled.keys() <= candidates:
                filled = {chunk: value for chunk, value in filled.items() if chunk in candidates}
            scores.update(filled)
            values = list(scores.values())
            spread = deviation(values)
            low, span = self._bounds(ranking.by, values, len(candidates), spread)
            weight = weights[ranking.by] * self._lead_factor(ranking.by, values, spread)
            votes.append(_Vote(ranking, weight, low, span, scores))
        total = sum(vote.weight for vote in votes)
        return [vote._replace(weight=vote.weight / total) for vote in votes]

    def _lead_factor(self, by: str, values: Sequence[float], spread: float) -> float:
        """Factor above 1 for a signal whose first result leads by more than usual, below 1 if by less."""
        ahead = lead(values, spread) if self.peak and by in self.usual_lead else None
        if ahead is None:
            return 1.0
        return math.exp(max(-MAX_LEAD_EXPONENT, min(MAX_LEAD_EXPONENT, self.peak * (ahead - self.usual_lead[by]))))

    def _bounds(self, by: str, values: Sequence[float], candidates: int, spread: float) -> tuple[float, float]:
        """Offset and divisor of the scale; a chunk without a score counts as the lowest, at 0."""
        scale = self.scales.get(by, self.scale)
        if scale == "raw":
            return 0.0, 1.0
        high, low = max(values), min(values)
        if high == low and len(values) == candidates:  # all equal: each counts as 1
            return high - 1.0, 1.0
        if scale == "floor_max" or len(values) < candidates:
            low = min(0.0, low)
        if scale == "spread":
            missing = [low] * (candidates - len(values))
            return low, SPAN * (deviation([*values, *missing]) if missing else spread) or 1.0
        return low, high - low or 1.0


def _evidence(votes: Sequence[_Vote], chunks: Collection[ChunkId]) -> dict[ChunkId, list[Evidence]]:
    """Evidence of each signal for some chunks."""
    found: dict[ChunkId, list[Evidence]] = {chunk: [] for chunk in chunks}
    for ranking, weight, low, span, scores in votes:
        scored = found.keys() & scores.keys()
        ranks = {hit[0]: rank for rank, hit in enumerate(ranking.hits, 1) if hit[0] in scored}
        filled = _ranks(scores, {hit[0] for hit in ranking.hits}) if len(ranks) < len(scored) else {}
        for chunk in scored:
            value = scores[chunk]
            scaled = (value - low) / span
            detail: dict[str, Any] = {"scaled": scaled, "weight": weight, "contribution": weight * scaled}
            if chunk in filled:
                detail["filled"] = True
            elif chunk in ranking.notes:
                detail.update(ranking.notes[chunk])
            found[chunk].append(Evidence(ranking.by, ranks.get(chunk) or filled[chunk], value, detail))
    return found


def _ranks(scores: Mapping[ChunkId, float], ranked: Collection[ChunkId]) -> dict[ChunkId, int]:
    """Ranks of the filled scores: behind all chunks that the signal ranked itself."""
    others = sorted((-value, chunk) for chunk, value in scores.items() if chunk not in ranked)
    return {chunk: rank for rank, (_, chunk) in enumerate(others, len(ranked) + 1)}
