"""Row lookup and top-k selection, shared by the vector store and the posting store.

A *slot* is the position of an added row, counted from the first one ever added.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from watersmeet.core.model import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import RowArray

_SAMPLE_STEP = 16


def live(numbers: NDArray[np.int64], drops: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Live rows and their slots: the last slot of a row added twice, unless it was dropped since.

    `drops` has pairs of a row and the number of slots when it was dropped.
    """
    import numpy as np

    if (numbers[1:] > numbers[:-1]).all():
        keys, slots = numbers, counted(len(numbers))
    else:
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        keys, slots = ordered[last], order[last]
    if len(drops) and len(keys):
        at = np.minimum(np.searchsorted(keys, drops[:, 0]), len(keys) - 1)
        hit = (keys[at] == drops[:, 0]) & (slots[at] < drops[:, 1])
        keep = np.ones(len(keys), dtype=np.bool_)
        keep[at[hit]] = False
        keys, slots = keys[keep], slots[keep]
    return keys, slots


_counted: list[NDArray[np.int64]] = []
"""The last array that `counted` has made."""


def counted(count: int) -> NDArray[np.int64]:
    """The numbers from 0, in an array that all stores of a process share: a million take milliseconds to make."""
    import numpy as np

    found = _counted[0] if _counted else np.arange(0)
    if len(found) < count:
        found = np.arange(count + count // 8)
        found.flags.writeable = False
        _counted[:] = [found]
    return found[:count]  # not that of the list: another thread may have put a shorter one there


def find(keys: NDArray[np.int64], slots: NDArray[np.int64], rows: Collection[Row] | RowArray) -> NDArray[np.int64]:
    """The slot of each of these rows; -1 for one that is not live."""
    import numpy as np

    requested = rows if isinstance(rows, np.ndarray) else np.fromiter(rows, dtype=np.int64, count=len(rows))
    if not len(keys) or not len(requested):
        return np.full(len(requested), -1, dtype=np.int64)
    if keys[-1] - keys[0] == len(keys) - 1:  # consecutive rows: no search needed
        at = requested - keys[0]
        if at.min() >= 0 and at.max() < len(keys):
            found: NDArray[np.int64] = slots[at]
            return found
    at = np.minimum(np.searchsorted(keys, requested), len(keys) - 1)
    return np.where(keys[at] == requested, slots[at], -1)


def largest(values: NDArray[np.float32], count: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of the largest values; ties with the last go to the lowest rows."""
    import numpy as np

    if len(values) <= count:
        return np.arange(len(values))
    found: NDArray[np.int64] = _likely(values, count)
    candidates = values[found]
    edge = np.partition(candidates, len(candidates) - count)[len(candidates) - count]
    found = found[candidates >= edge]
    if len(found) <= 2 * count:
        return found
    tied = values[found] == edge
    equal = found[tied]
    return np.concatenate([found[~tied], equal[np.argsort(rows[equal], kind="stable")[:count]]])


def _likely(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Positions that include the largest values, and few others: a sample gives the threshold."""
    import numpy as np

    sample = values[::_SAMPLE_STEP]
    guess = 2 * count // _SAMPLE_STEP + 16
    if len(sample) > 4 * guess:
        found = np.flatnonzero(values >= np.partition(sample, len(sample) - guess)[len(sample) - guess])
        if len(found) >= count:
            return found
    return np.arange(len(values))
