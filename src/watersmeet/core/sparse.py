"""Protocols of sparse encoders and posting stores. Arrays are numpy's, imported for type checkers only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watersmeet.core.model import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import RowArray

    TermArray = NDArray[np.int64]
    Weights = NDArray[np.float32]


class Weighted(NamedTuple):
    """Sparse vector of a text or a query: distinct terms with positive weights.

    `rarely`: the store multiplies each term of this query by its inverse document frequency.
    """

    terms: TermArray
    weights: Weights
    rarely: bool = False


class SparseEncoder(Protocol):
    """A sparse encoder: weighted terms of a text, including related terms. Loads its model at first use.

    Terms of two encoders may be compared only if their `fingerprint` is the same. A text's terms do not depend on the
    other texts of its batch. Every failure is a `ModelProblem`.

    Its class may set `remote` and `quick`, as for an `Embedder`.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    def encode(self, texts: Sequence[str]) -> list[Weighted]: ...
    def encode_query(self, text: str) -> Weighted: ...


class SparseWriter(Protocol):
    """A writer of postings; nothing is visible or durable before `commit`. Adding a row again replaces it."""

    def add(self, rows: Sequence[Row], texts: Sequence[Weighted]) -> None: ...
    def drop(self, rows: Collection[Row]) -> None: ...
    def commit(self) -> None: ...


class SparseReader(Protocol):
    """A reader of one state of a posting store. It may contain dead rows.

    `within` filters before ranking; equal scores are in the order of rows. Scores are sums of products of weights; a
    row that shares no term with the query is neither ranked nor scored.
    """

    @property
    def size(self) -> int: ...
    def rows(self) -> RowArray: ...
    def search(
        self, query: Weighted, limit: int, within: Collection[Row] | RowArray | None = None
    ) -> list[tuple[Row, float]]: ...
    def score(self, query: Weighted, rows: Collection[Row] | RowArray) -> dict[Row, float]: ...
