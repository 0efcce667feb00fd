"""One committed state of a vector store, mapped into memory, and the search over it."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import IndexMismatch
from watersmeet.core.model import Row
from watersmeet.store.local._row_slots import find, largest, live
from watersmeet.store.local._vector_files import Commit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Matrix, RowArray, Vector

_SPARSE = 4  # fewer than one row in so many allowed: gather them instead of scanning all
_MANY, _CONDITIONS = 500, 32  # lists of so many rows are remembered, and so many of them
_RESCORED = 100
"""So many are scored again by their exact vectors, or a quarter more than are wanted: of 29,600 that belonged among the
first hundred of a query on real documents, none was further back by its codes."""
_SIGN_AND_REST = 0x8FFFE000 - (1 << 32)


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """`keys` are the live rows in ascending order, `places` where each is; `ranked` marks what may be found."""

    numbers: NDArray[np.int64]
    codes: NDArray[np.uint8]
    scales: NDArray[np.float32]
    excesses: NDArray[np.float32]
    exact: NDArray[np.float16]
    keys: NDArray[np.int64]
    places: NDArray[np.int64]
    ranked: NDArray[np.bool_]
    whole: bool  # everything is ranked
    allowed: dict[int, tuple[Collection[Row], int, NDArray[np.int64]]] = field(default_factory=dict, init=False)
    """The places of rows that were asked for, by whose list it was: who passes one again has not changed it."""
    asked: list[tuple[Vector, Vector]] = field(default_factory=list, init=False)
    """The last query, as it came and at length 1: it is asked for what is near, and then for what others found.
    Who passes it again has not changed it either."""

    @classmethod
    def map(cls, folder: Path, commit: Commit) -> Reader:
        import numpy as np

        commit.verify(folder)
        numbers = _mapped(folder, commit, "rows", "<i8", (commit.rows,))
        scales, excesses = np.ascontiguousarray(_mapped(folder, commit, "scales", "<f4", (commit.rows, 2)).T)
        drops = _mapped(folder, commit, "drops", "<i8", (commit.drops, 2))
        keys, places = live(numbers, drops)
        ranked = np.zeros(commit.rows, dtype=np.bool_)
        ranked[places] = True
        ranked &= scales > 0
        return cls(
            numbers=numbers,
            codes=_mapped(folder, commit, "codes", "u1", (commit.rows, commit.dimension)),
            scales=scales,
            excesses=excesses,
            exact=_mapped(folder, commit, "exact", "<f2", (commit.rows, commit.dimension)),
            keys=keys,
            places=places,
            ranked=ranked,
            whole=bool(ranked.all()),
        )

    @property
    def size(self) -> int:
        """How many rows are held."""
        return len(self.keys)

    @property
    def garbage(self) -> float:
        """The share of the files that compaction would free."""
        return 1 - len(self.keys) / len(self.numbers) if len(self.numbers) else 0.0

    def rows(self) -> RowArray:
        return self.keys

    def has(self, rows: Collection[Row] | RowArray) -> NDArray[np.bool_]:
        """For each of these rows: is it held?"""
        return self._find(rows) >= 0

    def vectors(self, rows: Collection[Row] | RowArray) -> Matrix:
        """A vector for each of these rows; zeros for one that is not held."""
        import numpy as np

        places = self._find(rows)
        result = np.zeros((len(places), self.exact.shape[1]), dtype=np.float32)
        result[places >= 0] = self.exact[places[places >= 0]]
        return result

    def search(
        self, vector: Vector, limit: int, within: Collection[Row] | RowArray | None = None
    ) -> list[tuple[Row, float]]:
        """The nearest rows with their cosines; only among `within`, if it is given."""
        import numpy as np

        query = self._query(vector)
        if query is None or limit <= 0:
            return []
        wanted = max(_RESCORED, limit + limit // 4)
        places = self._scan(query, wanted, None if within is None and self.whole else self._allowed(within))
        numbers, cosines = self._cosines(query, places)
        first = np.lexsort((numbers, -cosines))[:limit]
        return list(zip(numbers[first].tolist(), cosines[first].tolist(), strict=True))

    def score(self, vector: Vector, rows: Collection[Row] | RowArray) -> dict[Row, float]:
        """The cosines of those of these rows that are held and are not zero."""
        query = self._query(vector)
        if query is None:
            return {}
        places = self._find(rows)
        places = places[places >= 0]
        numbers, cosines = self._cosines(query, places if self.whole else places[self.ranked[places]])
        return dict(zip(numbers.tolist(), cosines.tolist(), strict=True))

    def raw(self, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Everything about these places, as it is written."""
        import numpy as np

        parts: dict[str, NDArray[Any]] = {"rows": self.numbers, "codes": self.codes, "exact": self.exact}
        scales = np.stack([self.scales[places], self.excesses[places]], axis=1)
        return {"scales": scales, **{part: array[places] for part, array in parts.items()}}

    def _query(self, vector: Vector) -> Vector | None:
        """The query at length 1; None if it points nowhere."""
        import numpy as np

        for known, made in self.asked:
            if known is vector:
                return made
        query = np.asarray(vector, dtype=np.float64)
        if query.shape != self.exact.shape[1:]:
            raise IndexMismatch(
                f"the model gave a vector of {query.size} numbers, and the index holds those of {self.exact.shape[1]}",
                "use the model that it was built with, or run `watersmeet sync --recreate`",
            )
        length = math.sqrt(query.dot(query))
        if not math.isfinite(length) or length == 0:
            return None
        made = (query / length).astype(np.float32)
        self.asked[:] = [(vector, made)]
        return made

    def _find(self, rows: Collection[Row] | RowArray) -> NDArray[np.int64]:
        """Where each of these rows is; -1 for one that is not held."""
        return find(self.keys, self.places, rows)

    def _allowed(self, within: Collection[Row] | RowArray | None) -> NDArray[np.int64]:
        """The places that may be found; of many rows they are remembered, since signals ask for the same again."""
        import numpy as np

        if within is None:
            return np.flatnonzero(self.ranked)
        known = self.allowed.get(id(within))
        if known is not None and known[0] is within and len(within) == known[1]:
            return known[2]
        found = self._find(within)
        allowed = np.zeros(len(self.numbers), dtype=np.bool_)
        allowed[found[found >= 0]] = True
        places = np.flatnonzero(allowed & self.ranked)
        if len(within) >= _MANY:
            if len(self.allowed) >= _CONDITIONS:
                self.allowed.clear()
            self.allowed[id(within)] = (within, len(within), places)
        return places

    def _scan(self, query: Vector, wanted: int, places: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The places that come first by their codes, among these or all."""
        import numpy as np

        if places is None:
            if len(self.numbers) <= wanted:
                return np.arange(len(self.numbers))
            return largest(_products(query, self.codes, self.scales, self.excesses), wanted, self.numbers)
        if len(places) <= wanted:
            return places
        if len(places) * _SPARSE >= len(self.numbers):
            near = _products(query, self.codes, self.scales, self.excesses)[places]
        else:
            near = _products(query, self.codes[places], self.scales[places], self.excesses[places])
        return places[largest(near, wanted, self.numbers[places])]

    def _cosines(self, query: Vector, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows there, and cosines from the exact vectors: each by itself, so that company does not change it."""
        import numpy as np

        exact = _wide(self.exact[places])
        cosines = np.einsum("ij,j->i", exact, query) / np.sqrt(np.einsum("ij,ij->i", exact, exact))
        return self.numbers[places], cosines.clip(-1, 1)


def _mapped(folder: Path, commit: Commit, part: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    import numpy as np

    if not shape[0]:
        return np.zeros(shape, dtype=kind)
    return np.asarray(np.memmap(commit.file(folder, part), dtype=kind, mode="r", shape=shape))


def _wide(halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """The same numbers as float32, three times as fast as numpy does it, which looks at each by itself.

    Sign, exponent and fraction are moved to where float32 has them; the exponent then wants 112 more. Neither
    infinities nor what is no number are stored.
    """
    import numpy as np

    moved = (halves.view(np.int16).astype(np.int32) << 13) & np.int32(_SIGN_AND_REST)
    wide: NDArray[np.float32] = moved.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide


def _products(
    query: Vector, codes: NDArray[np.uint8], scales: NDArray[np.float32], excesses: NDArray[np.float32]
) -> NDArray[np.float32]:
    """What orders the rows as their product with the query does, from the codes alone.

    (c + 128)(q + 128) sums to c.q, plus 128 times the sum of c, plus what is the same for all rows.
    """
    import numpy as np
    import simsimd

    signed = np.rint(query * (127 / np.abs(query).max())).astype(np.int16)
    shifted = (signed + 128).astype(np.uint8)[None]
    # Not `out=`: there simsimd 6.5.16 gives None back without owning it, and after enough calls Python aborts.
    sums = np.asarray(simsimd.cdist(shifted, codes, metric="dot", out_dtype="float32", threads=1))
    near: NDArray[np.float32] = sums[0]
    near -= np.float32(128 * int(signed.sum()) + 128 * 128 * len(query))
    near -= excesses
    near *= scales
    return near
