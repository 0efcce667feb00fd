"""The sketch of a large vector store: codes of the leading principal components of its rows, scanned first.

A third of the numbers leaves out so little that the nearest rows are among a few thousand candidates; these are then
compared by their codes, and the best of them exactly. So a query reads a third of the memory.

A sketch is one file that never changes: the components, the codes, their scales and excesses. It is made of the first
rows of a generation, all that there are; rows added since are scanned as they are. When these are a quarter of the
rows, a new sketch is made of all. The commit file names the current one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING
from zlib import crc32

from watersmeet.store.local._codes import Codes, coded, widened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Matrix, Vector

LEAST_ROWS = 100_000
"""Smaller stores are scanned quicker than it is worth."""
MOST_SINCE = 4
"""If more than one row in so many was added since, a new sketch is made."""
_COMPONENTS, _MULTIPLE = 128, 64
_SAMPLE = 16_384
"""Rows from which the components are computed."""
_BLOCK = 8192
_LEAST_COVERED = 0.5
"""A query of which the components have less is compared with all rows: real ones have .55 or more, also of subjects
that no row is about."""
_MIN_CANDIDATES, _CANDIDATE_RATIO, _PER_RESULT = 2000, 128, 8
_NAME = re.compile(r"sketch-(\d{1,18})x(\d{1,9})")


@dataclass(frozen=True, slots=True)
class SketchPart:
    """What a commit file says by the name of a part: the rows that a sketch covers, and its numbers for each."""

    rows: int
    width: int

    @classmethod
    def named(cls, part: str) -> SketchPart | None:
        found = _NAME.fullmatch(part)
        return cls(int(found[1]), int(found[2])) if found else None

    @property
    def name(self) -> str:
        return f"sketch-{self.rows}x{self.width}"

    def sizes(self, dimension: int) -> tuple[int, int, int, int]:
        """Bytes of the components, the codes, their scales and their excesses."""
        return 4 * self.width * dimension, self.width * self.rows, 4 * self.rows, 4 * self.rows

    def size(self, dimension: int) -> int:
        return sum(self.sizes(dimension))


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """A sketch in use: the components of its codes, and the codes."""

    components: Matrix
    codes: Codes

    @classmethod
    def map(cls, path: Path, part: SketchPart, dimension: int) -> Sketch:
        import numpy as np

        content = np.asarray(np.memmap(path, dtype=np.uint8, mode="r", shape=(part.size(dimension),)))
        components, codes, scales, excesses = np.split(content, np.cumsum(part.sizes(dimension))[:3])
        return cls(
            components.view("<f4").reshape(part.width, dimension),
            Codes(codes.reshape(part.rows, part.width), scales.view("<f4"), excesses.view("<f4")),
        )

    def covers(self, query: Vector) -> bool:
        """Whether the components have most of a normalised query; else its nearest rows might be no candidates."""
        covered = self.components @ query
        return bool(covered.dot(covered) >= _LEAST_COVERED)

    def best(
        self,
        query: Vector,
        count: int,
        places: NDArray[np.int64] | None,
        hidden: NDArray[np.int64],
        numbers: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """So many of these places, or of all but the hidden ones, that the best by the vectors are among them."""
        kept = max(_MIN_CANDIDATES, len(self.codes) // _CANDIDATE_RATIO, _PER_RESULT * count)
        return self.codes.best(self.components @ query, kept, places, hidden, numbers)


def is_one(part: str) -> bool:
    """Whether the file of this part is a sketch, or one that was not finished."""
    return part.startswith("sketch-")


def due(rows: int, dimension: int, current: SketchPart | None) -> SketchPart | None:
    """The sketch to be made of so many rows; None if there is a current one, or if it is not worth it."""
    width = max(_COMPONENTS, dimension // 3 // _MULTIPLE * _MULTIPLE)
    if rows < LEAST_ROWS or 2 * width > dimension:
        return None
    if current is not None and (rows - current.rows) * MOST_SINCE <= rows:
        return None
    return SketchPart(rows, width)


def write(file: IO[bytes], exact: NDArray[np.float16], part: SketchPart) -> int:
    """Writes the sketch of these rows; returns its checksum."""
    import numpy as np

    components = _components(exact, part.width)
    total = crc32(components.data)
    file.write(components.data)
    scales = np.empty((2, part.rows), dtype="<f4")
    for start in range(0, part.rows, _BLOCK):
        block = slice(start, start + _BLOCK)
        codes, found = coded(widened(exact[block]) @ components.T)
        scales[:, block] = found.T
        file.write(codes.data)
        total = crc32(codes.data, total)
    file.write(scales.data)
    return crc32(scales.data, total)


def _components(exact: NDArray[np.float16], width: int) -> Matrix:
    """The leading principal components of a sample, about the origin, as cosines are."""
    import numpy as np

    sample = exact[:: -(-len(exact) // _SAMPLE)].astype(np.float64)
    directions = np.linalg.eigh(sample.T @ sample).eigenvectors
    return np.ascontiguousarray(directions[:, : -width - 1 : -1].T, dtype="<f4")
