"""Vectors as 8-bit codes with a scale, and their scan by SimSIMD.

SimSIMD multiplies unsigned bytes about a third faster than signed ones, so codes are stored with 128 added, and each
row's share of the excess beside its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watersmeet.store.local._row_slots import largest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Matrix, Vector

_SCAN_RATIO = 4  # if fewer than one row in so many is allowed, gather these instead of scanning all
_SIGN_AND_REST = 0x8FFFE000 - (1 << 32)


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The codes of some rows, their scales, and 128 times the sum of each row's codes."""

    codes: NDArray[np.uint8]
    scales: NDArray[np.float32]
    excesses: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.codes)

    def from_place(self, start: int) -> Codes:
        """The rows from this place on."""
        return Codes(self.codes[start:], self.scales[start:], self.excesses[start:])

    def best(
        self,
        query: Vector,
        count: int,
        places: NDArray[np.int64] | None,
        hidden: NDArray[np.int64],
        numbers: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The best of these places, or of all but the hidden ones; of equal ones those of the lowest numbers."""
        import numpy as np

        if not len(self) or (places is not None and len(places) <= count):
            return np.zeros(0, dtype=np.int64) if places is None else places
        if places is None:
            scores = self._products(query)
            scores[hidden] = -np.inf
            best = largest(scores, count, numbers)
            return best[scores[best] > -np.inf] if len(hidden) else best
        if len(places) * _SCAN_RATIO >= len(self):
            scores = self._products(query)[places]
        else:
            scores = Codes(self.codes.take(places, axis=0), self.scales[places], self.excesses[places])._products(query)
        return places[largest(scores, count, numbers[places])]

    def _products(self, query: Vector) -> NDArray[np.float32]:
        """Scores that order rows as their dot product with the query does.

        (c + 128)(q + 128) sums to c.q, plus 128 times the sum of c, plus a constant for all rows.
        """
        import numpy as np
        import simsimd

        signed = np.rint(query * (127 / np.abs(query).max())).astype(np.int16)
        shifted = (signed + 128).astype(np.uint8)[None]
        # Not `out=`: there simsimd 6.5.16 gives None back without owning it, and after enough calls Python aborts.
        sums = np.asarray(simsimd.cdist(shifted, self.codes, metric="dot", out_dtype="float32", threads=1))
        scores: NDArray[np.float32] = sums[0]
        scores -= np.float32(128 * int(signed.sum()) + 128 * 128 * len(query))
        scores -= self.excesses
        scores *= self.scales
        return scores


def coded(wide: Matrix) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Rows as codes, and for each the scale and 128 times the sum of its codes."""
    import numpy as np

    largest_number = np.abs(wide).max(axis=1)
    signed = np.rint(wide * (127 / np.where(largest_number == 0, 1, largest_number))[:, None]).astype(np.int16)
    scales = np.empty((len(wide), 2), dtype="<f4")
    scales[:, 0] = largest_number / 127
    scales[:, 1] = 128.0 * signed.sum(axis=1)
    return (signed + 128).astype(np.uint8), scales


def halved(matrix: NDArray[Any]) -> NDArray[np.float16]:
    """Normalised rows as float16; zeros for one that is not finite."""
    import numpy as np

    whole = np.array(matrix, dtype=np.float64)
    whole[~np.isfinite(whole).all(axis=1)] = 0
    lengths = np.linalg.norm(whole, axis=1, keepdims=True)
    made: NDArray[np.float16] = np.divide(whole, lengths, out=np.zeros_like(whole), where=lengths > 0).astype("<f2")
    return made


def widened(halves: NDArray[np.float16]) -> Matrix:
    """float16 to float32, three times as fast as numpy, which converts one by one.

    Sign, exponent and fraction are shifted to their float32 positions; the exponent then needs 112 more. Infinities and
    NaN are never stored.
    """
    import numpy as np

    moved = (halves.view(np.int16).astype(np.int32) << 13) & np.int32(_SIGN_AND_REST)
    wide: NDArray[np.float32] = moved.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide
