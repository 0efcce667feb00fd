"""Convex combination of scaled scores (Bruch, Gai and Ingber, TOIS 2023), with every candidate scored by all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.options import option

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

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        given = {**self.weights, **plan.weights}
        voting = sorted((r for r in rankings if r.hits and given.get(r.by, 1.0) > 0), key=lambda r: r.by)
        total = sum(given.get(ranking.by, 1.0) for ranking in voting)
        candidates = {hit.chunk: None for ranking in voting for hit in ranking.hits}
        score = dict.fromkeys(candidates, 0.0)
        evidence: dict[ChunkId, list[Evidence]] = {chunk: [] for chunk in candidates}
        for ranking in voting:
            weight = given.get(ranking.by, 1.0) / total
            scored = [(hit.chunk, hit.score) for hit in ranking.hits]
            scored += sorted(ranking.filled.items(), key=lambda item: (-item[1], item[0]))
            low, span = self._bounds([value for _, value in scored], len(candidates))
            ranked, notes = len(ranking.hits), ranking.notes
            for rank, (chunk, value) in enumerate(scored, 1):
                scaled = (value - low) / span
                part = weight * scaled
                score[chunk] += part
                detail = {"scaled": scaled, "weight": weight, "contribution": part}
                if chunk in notes:
                    detail |= notes[chunk]
                if rank > ranked:
                    detail["filled"] = True
                evidence[chunk].append(Evidence(ranking.by, rank, value, detail))
        return Ranking.of("convex", [Hit(chunk, s, tuple(evidence[chunk])) for chunk, s in score.items()])

    def _bounds(self, values: Sequence[float], candidates: int) -> tuple[float, float]:
        """What is taken off and what is divided by; a chunk without a score counts as the lowest, at 0."""
        if self.scale == "raw":
            return 0.0, 1.0
        high, low = max(values), min(values)
        if self.scale != "min_max" or len(values) < candidates:
            low = min(0.0, low)
        return low, high - low or 1.0
