"""Hashed embedder without a model, for tests: the same on every machine.

Words and their trigrams are hashed to signed positions of a vector, so that equal words are near, related forms are
fairly near, and everything else is nearly orthogonal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from watersmeet.common.encodable import clean
from watersmeet.core.options import option
from watersmeet.embed._common import in_slices, unit

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Hashed:
    """Vectors of hashed words, without a model: for tests."""

    remote: ClassVar[bool] = False
    quick: ClassVar[bool] = False

    dimension: int = option(128, "the length of a vector")

    @property
    def name(self) -> str:
        return f"hashed-{self.dimension}"

    @property
    def fingerprint(self) -> str:
        return f"hashed-1-{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        sums = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            for place, weight in self._places(text):
                sums[number, place] += weight
        return unit(sums)

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        return in_slices(self.embed, texts, batch)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector

    def _places(self, text: str) -> Iterator[tuple[int, float]]:
        for word in _WORD.findall(clean(text).lower()):
            yield self._place(word, 1.0)
            padded = f"<{word}>"
            for start in range(len(padded) - 2):
                yield self._place("#" + padded[start : start + 3], 0.3)

    def _place(self, piece: str, weight: float) -> tuple[int, float]:
        number = int.from_bytes(hashlib.blake2b(piece.encode(), digest_size=8).digest())
        return (number >> 1) % self.dimension, weight if number & 1 else -weight
