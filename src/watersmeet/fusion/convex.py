"""Convex combination of scaled scores (Bruch, Gai and Ingber, TOIS 2023), with every candidate scored by all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.options import check_weights, option

_Vote = tuple[Ranking, float, float, float, dict[ChunkId, int]]
"""A ranking, its weight, what is taken off its scores and what they are divided by, and the ranks."""

SCALES = ("min_max", "floor_max", "raw")


@dataclass(frozen=True, slots=True)
class Convex:
    """Each signal's scores of all candidates are put on one scale and mixed by weight; the weights sum to 1."""

    weights: Mapping[str, float] = option({}, "weight of each signal; 1 where none is given")
    scale: str = option("min_max", "min_max: lowest 0, highest 1; floor_max: nothing 0, highest 1; raw: as it is")

    fills: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ConfigError(f"fusion.convex.scale cannot be {self.scale!r}", nearest(self.scale, SCALES))
        check_weights("fusion.convex.weights", self.weights)

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        given = {ranking.by: plan.weight(ranking.by, self.weights) for ranking in rankings}
        voting = sorted((r for r in rankings if r.hits and given[r.by] > 0), key=lambda r: r.by)
        total = sum(given[ranking.by] for ranking in voting)
        score = {hit.chunk: 0.0 for ranking in voting for hit in ranking.hits}
        votes = []
        for ranking in voting:
            weight = given[ranking.by] / total
            scored = [(hit.chunk, hit.score) for hit in ranking.hits]
            filled = [item for item in ranking.filled.items() if item[0] in score]
            scored += sorted(filled, key=lambda item: (-item[1], item[0]))
            low, span = self._bounds([value for _, value in scored], len(score))
            for chunk, value in scored:
                score[chunk] += weight * ((value - low) / span)
            votes.append((ranking, weight, low, span, {chunk: rank for rank, (chunk, _) in enumerate(scored, 1)}))
        order = sorted(score, key=lambda chunk: (-score[chunk], chunk))
        many = plan.pool if plan.told else 0
        told = [Hit(chunk, score[chunk], _evidence(chunk, votes)) for chunk in order[:many]]
        return Ranking("convex", (*told, *(Hit(chunk, score[chunk]) for chunk in order[many:])))

    def _bounds(self, values: Sequence[float], candidates: int) -> tuple[float, float]:
        """What is taken off and what is divided by; a chunk without a score counts as the lowest, at 0."""
        if self.scale == "raw":
            return 0.0, 1.0
        high, low = max(values), min(values)
        if high == low and len(values) == candidates:  # all alike: nothing is told apart, and nothing is 0
            return high - 1.0, 1.0
        if self.scale != "min_max" or len(values) < candidates:
            low = min(0.0, low)
        return low, high - low or 1.0


def _evidence(chunk: ChunkId, votes: Sequence[_Vote]) -> tuple[Evidence, ...]:
    """What each signal said of a chunk; only told of as many as anyone could ask for."""
    found = []
    for ranking, weight, low, span, ranks in votes:
        rank = ranks.get(chunk)
        if rank is None:
            continue
        filled = rank > len(ranking.hits)
        value = ranking.filled[chunk] if filled else ranking.hits[rank - 1].score
        scaled = (value - low) / span
        detail: dict[str, Any] = {"scaled": scaled, "weight": weight, "contribution": weight * scaled}
        if filled:
            detail["filled"] = True
        elif chunk in ranking.notes:
            detail.update(ranking.notes[chunk])
        found.append(Evidence(ranking.by, rank, value, detail))
    return tuple(found)
