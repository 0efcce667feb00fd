"""The seams where text becomes weighted terms, and where those are kept. Arrays are numpy's, named only to checkers."""

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
    """A text or a query as terms, each once, with positive weights.

    `rarely`: the store is to weigh each term of this query by how rare it is in the store.
    """

    terms: TermArray
    weights: Weights
    rarely: bool = False


class SparseEncoder(Protocol):
    """Which terms is a text about, those it does not use included? Loads its model at first use.

    Terms of two encoders may be compared only if their `fingerprint` is the same. A text's terms do not depend on
    the texts beside it. Anything that goes wrong is a `ModelProblem`.

    Its class may say `remote` and `quick`, as that of an `Embedder`.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    def encode(self, texts: Sequence[str]) -> list[Weighted]: ...
    def encode_query(self, text: str) -> Weighted: ...


class SparseWriter(Protocol):
    """Appends and deletes; nothing is visible or durable before `commit`. Adding a row again replaces it."""

    def add(self, rows: Sequence[Row], texts: Sequence[Weighted]) -> None: ...
    def drop(self, rows: Collection[Row]) -> None: ...
    def commit(self) -> None: ...


class SparseReader(Protocol):
    """One state of a store of postings. It may hold rows that are dead in the catalogue.

    `within` restricts before ranking; equal scores come in the order of rows. Scores are sums of products of
    weights; a row that shares no term with the query is never ranked or scored.
    """

    @property
    def size(self) -> int: ...
    def rows(self) -> RowArray: ...
    def search(
        self, query: Weighted, limit: int, within: Collection[Row] | RowArray | None = None
    ) -> list[tuple[Row, float]]: ...
    def score(self, query: Weighted, rows: Collection[Row] | RowArray) -> dict[Row, float]: ...
