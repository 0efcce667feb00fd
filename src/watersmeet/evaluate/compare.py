"""Significance of the difference between two runs over the same questions, query by query.

The interval is that of a paired bootstrap over queries (Efron; Sakai, SIGIR 2006). The p-value is that of a
randomisation test (Fisher; Smucker, Allan and Carterette, CIKM 2007): if the two runs were equal, each
difference could as well have the other sign. With few differences all the signs are tried; else a sample is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 10_000
LEVEL = 0.05
MIN_DIFFERENCES = math.ceil(math.log2(2 / LEVEL))
"""With fewer differences than this, p is always above the level: there are too few signs to flip."""
LARGE_LOSS = 0.33
"""The loss of a single query that is not put down to chance; for the mean of n queries, divided by the root of n. It is
about the smallest value that runs of equal quality exceed no more often than the level."""
_EXACT = 13
"""Up to this many differences, every combination of signs is tried."""
_CELLS = 4_000_000
"""Array size of one batch, for bounded memory."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference with its 95 % interval, p, and how many queries won and lost."""

    delta: float
    low: float
    high: float
    p: float
    won: int
    lost: int
    queries: int

    @property
    def few(self) -> bool:
        """Whether too few queries differ for a test."""
        return self.won + self.lost < MIN_DIFFERENCES

    @property
    def regressed(self) -> bool:
        """Whether it is worse; where too few queries differ for a test, by a one-sided test or by a large loss."""
        large = self.delta <= -LARGE_LOSS / math.sqrt(self.queries)
        return self.worse or (self.few and self.high < 0 and (self.p / 2 < LEVEL or large))

    @property
    def worse(self) -> bool:
        """Whether it is significantly worse, by the test and by the interval."""
        return self.p < LEVEL and self.high < 0

    @property
    def better(self) -> bool:
        return self.p < LEVEL and self.low > 0

    def __str__(self) -> str:
        return f"{self.delta:+.4f} nDCG@10 ({self.low:+.4f} to {self.high:+.4f}, p = {self.p:.4f})"


def compare(ours: Sequence[float], theirs: Sequence[float], seed: int = 0, resamples: int = RESAMPLES) -> Difference:
    import numpy as np

    if len(ours) != len(theirs) or not ours:
        raise ValueError("both runs must have the same questions, and at least one")
    delta = np.asarray(ours, float) - np.asarray(theirs, float)
    delta[np.abs(delta) < 1e-12] = 0.0
    low, high = _interval(delta, seed, resamples)
    return Difference(
        delta=float(delta.mean()),
        low=low,
        high=high,
        p=_randomised(delta, seed, resamples),
        won=int((delta > 0).sum()),
        lost=int((delta < 0).sum()),
        queries=len(ours),
    )


def interval(values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean."""
    import numpy as np

    return _interval(np.asarray(values, float), seed, resamples)


def _interval(values: Floats, seed: int, resamples: int) -> tuple[float, float]:
    import numpy as np

    if not values.size:
        return 0.0, 0.0
    random = np.random.default_rng(seed)
    means = []
    for size in _batches(resamples, values.size):
        drawn = random.integers(0, values.size, (size, values.size), dtype=np.int32)
        means.append(values[drawn].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def _randomised(delta: Floats, seed: int, resamples: int) -> float:
    """The share of sign flips that give a difference at least as large; never 0 when only a sample is tried."""
    import numpy as np

    moved = delta[delta != 0]
    if not moved.size:
        return 1.0
    observed = abs(moved.sum()) - 1e-9
    if moved.size <= _EXACT:
        signs = 1 - 2 * (np.arange(1 << moved.size)[:, None] >> np.arange(moved.size) & 1)
        return float((np.abs(signs @ moved) >= observed).mean())
    random = np.random.default_rng([seed, 1])
    beyond = 0
    for size in _batches(resamples, moved.size):
        signs = random.integers(0, 2, (size, moved.size), dtype=np.int8) * 2 - 1
        beyond += int((np.abs(signs @ moved) >= observed).sum())
    return (beyond + 1) / (resamples + 1)


def _batches(total: int, width: int) -> list[int]:
    size = max(1, min(total, _CELLS // max(1, width)))
    return [size] * (total // size) + ([total % size] if total % size else [])
