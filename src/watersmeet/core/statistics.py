"""Score statistics: standard deviation, and the lead of the first score in standard deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence

COMPARED = 5
"""The first score is compared with the mean of so many next ones."""


def deviation(values: Sequence[float]) -> float:
    """Standard deviation, exactly the same for any order of the values."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum([(apart := value - mean) * apart for value in values]) / len(values))


def lead(values: Sequence[float], spread: float | None = None) -> float | None:
    """Lead of the highest value; None if there are too few. `spread` is their deviation, if already computed."""
    if len(values) <= COMPARED:
        return None
    best, *others = sorted(values, reverse=True)[: COMPARED + 1]
    spread = deviation(values) if spread is None else spread
    return (best - sum(others) / COMPARED) / spread if spread > 0 else 0.0
