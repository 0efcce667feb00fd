"""How scores are spread: how far the first is ahead of the others, in standard deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence

NEXT = 5
"""The first is held against the mean of so many next ones."""


def deviation(values: Sequence[float]) -> float:
    """In whatever order they come, to the last digit."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum([(apart := value - mean) * apart for value in values]) / len(values))


def lead(values: Sequence[float], spread: float | None = None) -> float | None:
    """None if there are too few to tell; `spread` is their deviation, where it is known."""
    if len(values) <= NEXT:
        return None
    best, *others = sorted(values, reverse=True)[: NEXT + 1]
    spread = deviation(values) if spread is None else spread
    return (best - sum(others) / NEXT) / spread if spread > 0 else 0.0
