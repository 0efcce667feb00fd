"""Protocols of embedders and vector stores. Arrays are numpy's, imported for type checkers only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watersmeet.core.model import ChunkId, Condition, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """One float32 vector of length 1, or all zeros for an empty text."""
    Matrix = NDArray[np.float32]
    """One such vector for each text."""
    RowArray = NDArray[np.int64]


class Embedder(Protocol):
    """An embedder: turns texts into vectors. Loads its model at first use, once per process.

    Vectors of two embedders may be compared only if their `fingerprint` is the same: it covers the model's files and
    every setting that changes a vector. An embedder may have `replaces`: fingerprints of earlier files of the same
    model, whose vectors may be searched with its own until they are replaced; and `reads`: codes of the languages that
    it reads, empty if unknown, in which case it is used for all. A text's vector does not depend on the
    other texts of its batch. Every failure is a `ModelProblem`.

    Its class may set `remote` (it calls another machine, which may not answer) and `quick` (it is so fast that vectors
    are made during sync, even when those of slower models are made later). Both default to false. A sync shows how much
    a remote one would embed, and what that costs by its `price(tokens)`: US dollars, or None if unknown.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def embed(self, texts: Sequence[str]) -> Matrix: ...
    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        """Vectors in order, up to `batch` texts at once, each batch with the position of its first text."""
        ...

    def embed_query(self, text: str) -> Vector: ...


class VectorWriter(Protocol):
    """A writer of vectors; nothing is visible or durable before `commit`. Adding a row again replaces it."""

    def add(self, rows: Sequence[Row], vectors: Matrix) -> None: ...
    def drop(self, rows: Collection[Row]) -> None: ...
    def commit(self) -> None: ...


class VectorReader(Protocol):
    """A reader of one state of a vector store. It may contain dead rows.

    `within` filters before ranking; equal scores are in the order of rows. Scores are cosines.
    A zero vector is stored, but neither ranked nor scored.
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
    """Vector store. One process writes at a time; any number read."""

    def writer(self) -> VectorWriter: ...
    def reader(self) -> VectorReader: ...
    def close(self) -> None: ...


class ScoredChunk(NamedTuple):
    """A chunk and its cosine; `estimated` if it has no vector yet and another model's is used instead."""

    chunk: ChunkId
    cosine: float
    estimated: bool = False


_SCORED = partial(tuple.__new__, ScoredChunk)


def scored_chunks(cosines: Iterable[tuple[ChunkId, float]]) -> list[ScoredChunk]:
    """Scored chunks, none estimated; faster than one by one, as `hits_of`."""
    return list(map(_SCORED, [(chunk, cosine, False) for chunk, cosine in cosines]))


def key_of(text: str) -> bytes:
    """Key of a text in a vector cache."""
    from hashlib import blake2b  # not needed by a search

    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


class VectorCache(Protocol):
    """Cache of vectors, shared by all indexes."""

    def get_many(self, fingerprint: str, keys: Sequence[bytes]) -> dict[bytes, Vector]: ...
    def put_many(self, fingerprint: str, keys: Sequence[bytes], vectors: Matrix) -> Matrix:
        """Store vectors; returns them with the precision of the cache."""
        ...

    def close(self) -> None: ...


class VectorSearch(Protocol):
    """Vector search for signals: live chunks only, filtered by the condition before ranking.

    Several texts are searched at once; a chunk that is ranked for one is scored for all."""

    def nearest(self, texts: Sequence[str], condition: Condition, limit: int) -> list[list[ScoredChunk]]: ...
    def score(self, texts: Sequence[str], ids: Collection[ChunkId]) -> list[list[ScoredChunk]]: ...
