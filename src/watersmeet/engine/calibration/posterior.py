"""Which weights are right for these documents? A capped Bayesian update over a grid of weights.

Each piece of evidence says how well every point of the grid would have ranked what was right. The recipe's weights are
the prior. What is learnt is bounded in four ways: the number of pieces that count, how far the weights may go, evidence
of which the engine can make nothing counts for nothing, and the mean over the grid is taken, never its best point.
The constants were chosen on judged sets; docs/decisions/0008 has the figures.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

SIGNALS = ("lexical", "static", "dense")
STEPS = 10
LEARNING_RATE = 8.0
"""How much a point of the grid gains by one more nDCG over all pieces of evidence."""
PRIOR_DEVIATION = {"lexical": 0.25, "static": 0.1, "dense": 0.25}
"""How far from the prior the right weights usually are: the deviation of the prior."""
MAX_EVIDENCE = 200.0
"""More pieces of evidence than so many count as so many."""
MAX_SHIFT = 0.3
"""How far a weight may go from the prior."""
CHANCE, SURE = 0.1, 0.3
"""Evidence on which the prior's mean nDCG is at most the first counts for nothing, from the second on in full: what
the engine finds nowhere near the top was not chosen for the query's sake."""

Weights = Mapping[str, float]


@cache
def grid() -> tuple[tuple[float, float, float], ...]:
    """All weights of the three signals in steps of a tenth that sum to 1."""
    return tuple(
        (a / STEPS, b / STEPS, (STEPS - a - b) / STEPS) for a in range(STEPS + 1) for b in range(STEPS + 1 - a)
    )


@dataclass(frozen=True, slots=True)
class Posterior:
    """What the evidence so far comes to: how much there was, and what each point of the grid made of it, in nDCG."""

    pieces: float = 0.0
    gained: tuple[float, ...] = field(default_factory=lambda: (0.0,) * len(grid()))

    def learn(self, gains: Sequence[float], weight: float = 1.0) -> Posterior:
        """One more piece of evidence: the nDCG that each point of the grid has on it."""
        summed = tuple(old + weight * gain for old, gain in zip(self.gained, gains, strict=True))
        return Posterior(self.pieces + weight, summed)

    def weights(self, prior: Weights) -> dict[str, float]:
        """The prior, moved as the evidence moves the mean over the grid; as much in all as the prior has."""
        start = _shares(prior)
        moves = [new - old for new, old in zip(self._mean(start), Posterior()._mean(start), strict=True)]
        part = min(1.0, MAX_SHIFT / max(map(abs, moves))) if any(moves) else 0.0
        moved = [max(0.0, old + part * move) for old, move in zip(start, moves, strict=True)]
        share = total(prior) / math.fsum(moved)
        return {name: round(value * share, 4) for name, value in zip(SIGNALS, moved, strict=True)}

    def trust(self, prior: Weights) -> float:
        """From 0 to 1: whether this is evidence at all."""
        if not self.pieces:
            return 0.0
        found = self.gained[_nearest(prior)] / self.pieces
        return min(1.0, max(0.0, (found - CHANCE) / (SURE - CHANCE)))

    def posterior(self, prior: Weights) -> list[float]:
        """How likely each point of the grid is, given the evidence."""
        return self._likely(_shares(prior))

    def _mean(self, start: tuple[float, ...]) -> list[float]:
        likely = self._likely(start)
        points = grid()
        return [math.fsum(p * point[i] for p, point in zip(likely, points, strict=True)) for i in range(len(SIGNALS))]

    def _likely(self, start: tuple[float, ...]) -> list[float]:
        prior = dict(zip(SIGNALS, start, strict=True))
        heed = LEARNING_RATE * self.trust(prior) * min(self.pieces, MAX_EVIDENCE) / self.pieces if self.pieces else 0.0
        logs = []
        for point, gained in zip(grid(), self.gained, strict=True):
            away = sum(((x - s) / PRIOR_DEVIATION[name]) ** 2 for x, s, name in zip(point, start, SIGNALS, strict=True))
            logs.append(heed * gained - away / 2)
        most = max(logs)
        odds = [math.exp(log - most) for log in logs]
        total = math.fsum(odds)
        return [value / total for value in odds]


def combine(beliefs: Iterable[Posterior]) -> Posterior:
    """What several bodies of evidence come to."""
    total = Posterior()
    for belief in beliefs:
        total = Posterior(total.pieces + belief.pieces, tuple(map(operator.add, total.gained, belief.gained)))
    return total


def total(weights: Weights) -> float:
    """What the signals that can be weighed count for together."""
    return math.fsum(weights.get(name, 0.0) for name in SIGNALS) or 1.0


def _shares(weights: Weights) -> tuple[float, ...]:
    return tuple(weights.get(name, 0.0) / total(weights) for name in SIGNALS)


def _nearest(weights: Weights) -> int:
    start = _shares(weights)
    distances = [sum((x - s) ** 2 for x, s in zip(point, start, strict=True)) for point in grid()]
    return distances.index(min(distances))
