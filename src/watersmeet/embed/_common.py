"""What every embedder needs: clean text in, rows of length 1 out, and a name for exactly these vectors."""

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


def clean(text: str) -> str:
    """Text that any tokenizer and any wire can take: half a surrogate pair becomes a question mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def unit(vectors: Matrix) -> Matrix:
    """Rows of length 1. A row with nothing in it, or with something that is no number, becomes zeros."""
    import numpy as np

    with np.errstate(over="ignore"):  # too large is no number either
        matrix = np.array(vectors, dtype=np.float32, ndmin=2)
    matrix[~np.isfinite(matrix).all(axis=1)] = 0
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
    scaled: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0, casting="same_kind")
    return scaled


def usable(vectors: Matrix, who: object) -> Matrix:
    """Rows of length 1 for texts that say something: if one of them points nowhere, the model has failed."""
    rows = unit(vectors)
    if not rows.any(axis=1).all():
        raise ModelProblem(
            f"{who} gave no usable vector: nothing but zeros, or what is no number",
            "the model or its file may be broken: try another one, or fetch it again",
        )
    return rows


def in_slices(
    embed: Callable[[Sequence[str]], Matrix], texts: Sequence[str], batch: int
) -> Iterator[tuple[int, Matrix]]:
    for start in range(0, len(texts), max(batch, 1)):
        yield start, embed(texts[start : start + max(batch, 1)])


def fingerprint(files: Sequence[Path], settings: Mapping[str, Any]) -> str:
    """Other files or other settings, another fingerprint. Of a large file the size and 64 samples count."""
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


def unreadable(path: Path, error: OSError) -> ModelProblem:
    kind = ModelMissing if isinstance(error, FileNotFoundError) else ModelProblem
    return kind(f"cannot read {path}: {error.strerror or error}", f"put the model's files into {path.parent}")
