"""Helpers of embedders: vector normalisation and fingerprints."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ModelMissing, ModelProblem

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix

_BLOCK = 1 << 16
_BLOCKS = 64


def unit(vectors: Matrix) -> Matrix:
    """Vectors of length 1. A zero vector, or one with NaN or infinity, becomes zeros."""
    import numpy as np

    with np.errstate(over="ignore"):  # overflow counts as infinity
        matrix = np.array(vectors, dtype=np.float32, ndmin=2)
    matrix[~np.isfinite(matrix).all(axis=1)] = 0
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
    scaled: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0, casting="same_kind")
    return scaled


def usable(vectors: Matrix, who: object) -> Matrix:
    """Vectors of length 1 of non-empty texts; `ModelProblem` if one of them is zero."""
    rows = unit(vectors)
    if not rows.any(axis=1).all():
        raise ModelProblem(
            f"{who} gave no usable vector: only zeros, or values that are no numbers",
            "the model or its file may be broken: try another one, or fetch it again",
        )
    return rows


def in_slices(
    embed: Callable[[Sequence[str]], Matrix], texts: Sequence[str], batch: int
) -> Iterator[tuple[int, Matrix]]:
    for start in range(0, len(texts), max(batch, 1)):
        yield start, embed(texts[start : start + max(batch, 1)])


def fingerprint(files: Sequence[Path], settings: Mapping[str, Any]) -> str:
    """Fingerprint of model files and settings. Of a large file the size and 64 samples are hashed."""
    digest = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=12)
    for path in sorted(files, key=lambda path: path.name):
        try:
            size = path.stat().st_size
            digest.update(f"\0{path.name}\0{size}\0".encode())
            with path.open("rb") as file:
                if size <= _BLOCK * _BLOCKS:
                    digest.update(file.read())
                    continue
                for number in range(_BLOCKS):
                    file.seek(number * (size - _BLOCK) // (_BLOCKS - 1))
                    digest.update(file.read(_BLOCK))
        except OSError as error:
            raise unreadable(path, error) from error
    return digest.hexdigest()


def languages(path: Path) -> tuple[str, ...]:
    """Language codes listed in a `languages.json`; empty if there is none."""
    try:
        found = json.loads(path.read_text("utf8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise ModelProblem(f"cannot read {path}: {error}", 'it is a list of codes, such as ["de", "en"]') from error
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ModelProblem(f"{path} is not a list of language codes", 'write, for instance, ["de", "en"]')
    return tuple(found)


def unreadable(path: Path, error: OSError) -> ModelProblem:
    kind = ModelMissing if isinstance(error, FileNotFoundError) else ModelProblem
    return kind(f"cannot read {path}: {error.strerror or error}", f"put the model's files into {path.parent}")
