"""Reciprocal Rank Fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.options import check_weights, option


@dataclass(frozen=True, slots=True)
class Rrf:
    """The sum of weight / (k + rank) over the rankings that a chunk appears in; ranks start at 1."""

    k: int = option(60, "the larger, the less the first ranks stand out")
    weights: Mapping[str, float] = option({}, "weight of each signal; 1 where none is given")

    fills: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"fusion.rrf.k cannot be {self.k}", "it is 0 or more; 60 is usual")
        check_weights("fusion.rrf.weights", self.weights)

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        score: defaultdict[ChunkId, float] = defaultdict(float)
        evidence: defaultdict[ChunkId, list[Evidence]] = defaultdict(list)
        for ranking in sorted(rankings, key=lambda r: r.by):
            weight = plan.weight(ranking.by, self.weights)
            for rank, hit in enumerate(ranking.hits if weight > 0 else (), 1):
                part = weight / (self.k + rank)
                score[hit.chunk] += part
                detail = {"weight": weight, "contribution": part, **ranking.notes.get(hit.chunk, {})}
                evidence[hit.chunk].append(Evidence(ranking.by, rank, hit.score, detail))
        return Ranking.of("rrf", (Hit(chunk, s, tuple(evidence[chunk])) for chunk, s in score.items()))
