"""Linear interpolation of match qualities: a * semantic + (1 - a) * keyword, as in ADR-003."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.options import check_weights, option


@dataclass(frozen=True, slots=True)
class Linear:
    """Weighted sum of unscaled scores; a signal that did not find the chunk counts as 0."""

    weights: Mapping[str, float] = option(
        {"dense": 0.7, "keyword": 0.3}, "weight of each signal; 0 where none is given"
    )

    fills: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_weights("fusion.linear.weights", self.weights)

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        score: dict[ChunkId, float] = {}
        evidence: dict[ChunkId, list[Evidence]] = {}
        for ranking in sorted(rankings, key=lambda r: r.by):
            weight = plan.weight(ranking.by, self.weights, otherwise=0.0)
            for rank, hit in enumerate(ranking.hits, 1):
                part = weight * hit.score
                score[hit.chunk] = score.get(hit.chunk, 0.0) + part
                detail = {"weight": weight, "contribution": part, **ranking.notes.get(hit.chunk, {})}
                evidence.setdefault(hit.chunk, []).append(Evidence(ranking.by, rank, hit.score, detail))
        return Ranking.of("linear", (Hit(chunk, s, tuple(evidence[chunk])) for chunk, s in score.items()))
