"""Posterior over a grid of fusion weights: a capped Bayesian update.

Each piece of evidence has the nDCG of every point of the grid. The recipe's weights are the prior. Learning is bounded
in four ways: the number of pieces that count, the distance from the prior, evidence on which the engine finds nothing
does not count, and the mean over the grid is used, not its best point. The constants were chosen on judged sets
(docs/decisions/0008).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache

from watersmeet.core.lazy_dataclass import dataclass

SIGNALS = ("lexical", "static", "dense")
STEPS = 10
LEARNING_RATE = 8.0
"""Log-likelihood of one unit of nDCG, summed over all evidence."""
PRIOR_DEVIATION = {"lexical": 0.25, "static": 0.1, "dense": 0.25}
"""Standard deviation of the prior, by signal."""
MAX_EVIDENCE = 200.0
"""Maximum number of pieces of evidence that count."""
MAX_SHIFT = 0.3
"""Maximum distance of a weight from the prior."""
MIN_NDCG, FULL_TRUST_NDCG = 0.1, 0.3
"""Evidence does not count if the prior's mean nDCG on it is at most the first, and counts in full from the second on:
documents nowhere near the top were not chosen for the query."""

Weights = Mapping[str, float]


@cache
def grid() -> tuple[tuple[float, float, float], ...]:
    """The grid: all weights of the three signals in steps of a tenth that sum to 1."""
    return tuple(
        (a / STEPS, b / STEPS, (STEPS - a - b) / STEPS) for a in range(STEPS + 1) for b in range(STEPS + 1 - a)
    )


@dataclass(frozen=True, slots=True)
class Posterior:
    """Summed evidence: the number of pieces, and the nDCG of each point of the grid."""

    pieces: float = 0.0
    gained: tuple[float, ...] = field(default_factory=lambda: (0.0,) * len(grid()))

    def learn(self, gains: Sequence[float], weight: float = 1.0) -> Posterior:
        """Add a piece of evidence: the nDCG of each point of the grid."""
        summed = tuple(old + weight * gain for old, gain in zip(self.gained, gains, strict=True))
        return Posterior(self.pieces + weight, summed)

    def weights(self, prior: Weights) -> dict[str, float]:
        """Weights: the prior, moved as the evidence moves the mean over the grid, with the same sum."""
        start = _shares(prior)
        moves = [new - old for new, old in zip(self._mean(start), Posterior()._mean(start), strict=True)]
        part = min(1.0, MAX_SHIFT / max(map(abs, moves))) if any(moves) else 0.0
        moved = [max(0.0, old + part * move) for old, move in zip(start, moves, strict=True)]
        share = total(prior) / math.fsum(moved)
        return {name: round(value * share, 4) for name, value in zip(SIGNALS, moved, strict=True)}

    def trust(self, prior: Weights) -> float:
        """Trust in the evidence, from 0 to 1."""
        if not self.pieces:
            return 0.0
        mean = self.gained[_nearest(prior)] / self.pieces
        return min(1.0, max(0.0, (mean - MIN_NDCG) / (FULL_TRUST_NDCG - MIN_NDCG)))

    def posterior(self, prior: Weights) -> list[float]:
        """Posterior probability of each point of the grid."""
        return self._likely(_shares(prior))

    def _mean(self, start: tuple[float, ...]) -> list[float]:
        likely = self._likely(start)
        points = grid()
        return [math.fsum(p * point[i] for p, point in zip(likely, points, strict=True)) for i in range(len(SIGNALS))]

    def _likely(self, start: tuple[float, ...]) -> list[float]:
        prior = dict(zip(SIGNALS, start, strict=True))
        rate = LEARNING_RATE * self.trust(prior) * min(self.pieces, MAX_EVIDENCE) / self.pieces if self.pieces else 0.0
        logs = []
        for point, gained in zip(grid(), self.gained, strict=True):
            distance = sum(
                ((x - s) / PRIOR_DEVIATION[name]) ** 2 for x, s, name in zip(point, start, SIGNALS, strict=True)
            )
            logs.append(rate * gained - distance / 2)
        highest = max(logs)
        odds = [math.exp(log - highest) for log in logs]
        total = math.fsum(odds)
        return [value / total for value in odds]


def combine(beliefs: Iterable[Posterior]) -> Posterior:
    """Several posteriors as one."""
    total = Posterior()
    for belief in beliefs:
        total = Posterior(total.pieces + belief.pieces, tuple(map(operator.add, total.gained, belief.gained)))
    return total


def total(weights: Weights) -> float:
    """Sum of the weights that can be learned."""
    return math.fsum(weights.get(name, 0.0) for name in SIGNALS) or 1.0


def _shares(weights: Weights) -> tuple[float, ...]:
    return tuple(weights.get(name, 0.0) / total(weights) for name in SIGNALS)


def _nearest(weights: Weights) -> int:
    start = _shares(weights)
    distances = [sum((x - s) ** 2 for x, s in zip(point, start, strict=True)) for point in grid()]
    return distances.index(min(distances))
