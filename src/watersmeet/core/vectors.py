"""The seams where text becomes numbers, and where numbers are kept. Arrays are numpy's, named only to checkers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watersmeet.core.model import ChunkId, Condition, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """One row: float32, of length 1, or all zeros where there was nothing to embed."""
    Matrix = NDArray[np.float32]
    """One such row for each text."""
    RowArray = NDArray[np.int64]


class Embedder(Protocol):
    """What does it mean, as numbers? Loads its model at first use, once per process.

    Vectors of two embedders may be compared only if their `fingerprint` is the same: it covers the model's
    files and every setting that changes a vector. An embedder may have a `replaces`: fingerprints of earlier files
    of the same model, whose vectors may be searched with its own until they are made again. A text's vector does
    not depend on the texts beside it. Anything that goes wrong is a `ModelProblem`.

    Its class may say `remote` (it asks another machine, which may not answer) and `quick` (it takes next to no time, so
    its vectors are made at once, also when deep ones are left for later); neither is so if it says nothing.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def embed(self, texts: Sequence[str]) -> Matrix: ...
    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        """The same in order, up to `batch` texts at once, each with the position of its first: commit as it comes."""
        ...

    def embed_query(self, text: str) -> Vector: ...


class VectorWriter(Protocol):
    """Appends and deletes; nothing is visible or durable before `commit`. Adding a row again replaces it."""

    def add(self, rows: Sequence[Row], vectors: Matrix) -> None: ...
    def drop(self, rows: Collection[Row]) -> None: ...
    def commit(self) -> None: ...


class VectorReader(Protocol):
    """One state of a vector store. It may hold rows that are dead in the catalogue.

    `within` restricts before ranking; equal scores come in the order of rows. Scores are cosines.
    A zero vector is held but is near to nothing: it is never ranked or scored.
    """

    @property
    def size(self) -> int: ...
    def rows(self) -> RowArray: ...
    def has(self, rows: Collection[Row] | RowArray) -> NDArray[np.bool_]: ...
    def vectors(self, rows: Collection[Row] | RowArray) -> Matrix: ...
    def search(
        self, vector: Vector, limit: int, within: Collection[Row] | RowArray | None = None
    ) -> list[tuple[Row, float]]: ...
    def score(self, vector: Vector, rows: Collection[Row] | RowArray) -> dict[Row, float]: ...


class VectorStore(Protocol):
    """Where the vectors are. One process writes at a time; any number read."""

    def writer(self) -> VectorWriter: ...
    def reader(self) -> VectorReader: ...
    def close(self) -> None: ...


class ScoredChunk(NamedTuple):
    """A chunk and its cosine; `estimated` if its vector is not there yet and another model's stands in."""

    chunk: ChunkId
    cosine: float
    estimated: bool = False


_NEAR = partial(tuple.__new__, ScoredChunk)


def scored_chunks(cosines: Iterable[tuple[ChunkId, float]]) -> list[ScoredChunk]:
    """None of them estimated; quicker than one by one, as `hits_of` is."""
    return list(map(_NEAR, [(chunk, cosine, False) for chunk, cosine in cosines]))


def key_of(text: str) -> bytes:
    """What a text is remembered by in a cache of vectors."""
    from hashlib import blake2b  # a search has no need of it

    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


class VectorCache(Protocol):
    """Vectors that were made before, of whichever index."""

    def get_many(self, fingerprint: str, keys: Sequence[bytes]) -> dict[bytes, Vector]: ...
    def put_many(self, fingerprint: str, keys: Sequence[bytes], vectors: Matrix) -> Matrix:
        """Keep them; returns them as they will come back."""
        ...

    def close(self) -> None: ...


class VectorSearch(Protocol):
    """What signals ask of vectors: live chunks only, the condition held before ranking.

    Several texts are asked for at once; what one of them ranks, the others score."""

    def nearest(self, texts: Sequence[str], condition: Condition, limit: int) -> list[list[ScoredChunk]]: ...
    def score(self, texts: Sequence[str], ids: Collection[ChunkId]) -> list[list[ScoredChunk]]: ...
