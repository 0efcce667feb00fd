"""Which vectors are nearest, exactly? A memory-mapped matrix that many processes read while one appends.

Every vector is kept twice: as bytes with a scale, scanned whole by SimSIMD, and as float16, by which the best
candidates are scored again. SimSIMD multiplies unsigned bytes about a third faster than signed ones, so codes
are stored with 128 added, and each row's share of the excess beside its scale.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zlib import crc32

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.files import private
from watersmeet.core.locks import FileLock
from watersmeet.core.model import Row
from watersmeet.core.options import option
from watersmeet.store.local import _file_commits as commits
from watersmeet.store.local._file_checks import FileStamp, sum_of
from watersmeet.store.local._file_commits import Opened
from watersmeet.store.local._row_slots import find, largest, live

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Matrix, RowArray, Vector

_PARTS = ("rows", "codes", "scales", "exact", "drops")
_BLOCK = 8192
_SPARSE = 4  # fewer than one row in so many allowed: gather them instead of scanning all
_MANY, _CONDITIONS = 500, 32  # lists of so many rows are remembered, and so many of them
_RESCORED = 100
"""So many are scored again by their exact vectors, or a quarter more than are wanted: of 29,600 that belonged among the
first hundred of a query on real documents, none was further back by its codes."""
_SIGN_AND_REST = 0x8FFFE000 - (1 << 32)


@dataclass(frozen=True, slots=True)
class Commit:
    """How much of which generation counts. `rows` and `drops` are numbers of entries."""

    dimension: int
    generation: int = 0
    rows: int = 0
    drops: int = 0
    sums: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Of each part, what is remembered to tell whether it is damaged; an older version has none."""

    def verify(self, folder: Path, *, always: bool = False) -> None:
        for part in _PARTS:
            kept = FileStamp(*self.sums[part]) if part in self.sums else None
            commits.verify(self.file(folder, part), self.size(part), kept, always=always)

    def sum(self, folder: Path, part: str) -> int:
        """The sum of what counts of this part; of an older version it is made now."""
        if part in self.sums:
            return self.sums[part][0]
        return sum_of(str(self.file(folder, part)), self.size(part)) if self.size(part) else 0

    def size(self, part: str) -> int:
        """How many bytes of this part count."""
        each = {"rows": 8, "codes": self.dimension, "scales": 8, "exact": 2 * self.dimension, "drops": 16}
        return each[part] * (self.drops if part == "drops" else self.rows)

    def file(self, folder: Path, part: str) -> Path:
        return folder / f"{self.generation:06d}.{part}"

    def is_old(self, name: str, part: str) -> bool:
        """Whether a file belongs to another generation."""
        return part in _PARTS and int(name) != self.generation


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one model: files in a folder, read in place."""

    folder: str
    dimension: int
    grace: float = option(60.0, "seconds for which replaced files are kept for other processes", least=0)
    _opened: Opened[Reader] = field(default_factory=Opened, init=False, repr=False, compare=False)

    def reader(self) -> Reader:
        """The committed state as of now; the same object as long as nothing was committed."""
        folder = Path(self.folder)
        return self._opened.current(folder, lambda content: Reader.map(folder, self._commit(content)))

    def writer(self) -> Writer:
        return Writer(self)

    def verify(self) -> None:
        """Raise if any of its files is not what was written; all of them are read."""
        folder = Path(self.folder)
        try:
            self._commit(commits.read_bytes(folder)).verify(folder, always=True)
        except OSError as error:
            raise commits.problem(folder, error) from error

    def close(self) -> None:
        self._opened.forget()

    def _commit(self, content: bytes) -> Commit:
        if not content:
            return Commit(self.dimension)
        commit = commits.decode(Path(self.folder), content, Commit)
        if commit.dimension != self.dimension:
            raise IndexMismatch(
                f"{self.folder} holds vectors of {commit.dimension} numbers, the model gives {self.dimension}",
                "use the model that it was built with, or run `watersmeet sync --recreate`",
            )
        return commit


def held_rows(folder: str) -> NDArray[np.int64]:
    """The rows that a store holds, of whatever dimension."""
    place = Path(folder)
    content = commits.read_bytes(place)
    commit = commits.decode(place, content, Commit) if content else Commit(0)
    return Reader.map(place, commit).keys


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


class Writer:
    """One transaction after another: begun by the first `add` or `drop`, ended by `commit` or `rollback`."""

    def __init__(self, store: Vectors) -> None:
        self._store = store
        self._folder = Path(store.folder)
        self._lock: FileLock | None = None
        self._commit = Commit(store.dimension)
        self._files: dict[str, IO[bytes]] = {}
        self._written: set[str] = set()
        self._sums: dict[str, int] = {}

    def add(self, rows: Sequence[Row], vectors: Matrix) -> None:
        import numpy as np

        matrix = np.asarray(vectors)
        if matrix.shape != (len(rows), self._store.dimension):
            raise ValueError(f"{len(rows)} rows of {self._store.dimension} numbers, but vectors of {matrix.shape}")
        if len(rows):
            exact, codes, scales = _encoded(matrix)
            self._begin()
            parts = {"rows": np.asarray(rows, dtype="<i8"), "codes": codes, "scales": scales, "exact": exact}
            self._append(parts)
            self._commit = replace(self._commit, rows=self._commit.rows + len(rows))

    def drop(self, rows: Collection[Row]) -> None:
        """Forget these rows; one that is added again later is there again."""
        import numpy as np

        if len(rows):
            self._begin()
            drops = np.full((len(rows), 2), self._commit.rows, dtype="<i8")
            drops[:, 0] = np.fromiter(rows, dtype=np.int64, count=len(rows))
            self._append({"drops": drops})
            self._commit = replace(self._commit, drops=self._commit.drops + len(rows))

    def commit(self) -> None:
        """Make it durable, then visible. Without anything to commit, nothing is done."""
        if self._lock is None:
            return
        try:
            for part in sorted(self._written):
                commits.sync(self._files[part])
            changed = {part: os.fstat(file.fileno()).st_mtime_ns for part, file in self._files.items()}
            sums = {part: (self._sums[part], changed[part]) for part in changed}
            commits.publish(self._folder, asdict(replace(self._commit, sums=sums)))
            commits.sweep(self._folder, self._commit.is_old, self._store.grace)
        except OSError as error:
            raise commits.problem(self._folder, error) from error
        finally:
            self.rollback()

    def rollback(self) -> None:
        """Give up what was not committed."""
        self._written.clear()
        _close_all(self._files)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def compact(self) -> None:
        """Commit, then write only the live rows to new files; the old ones go after the grace period."""
        self.commit()
        self._begin()
        try:
            old = self._commit
            old.verify(self._folder, always=True)  # or garbage would be given a sum of its own
            reader = Reader.map(self._folder, old)
            new = Commit(old.dimension, old.generation + 1)
            _close_all(self._files)
            self._files = _open_tail(self._folder, new)
            self._sums = dict.fromkeys(_PARTS, 0)
            places = reader.places
            for start in range(0, len(places), _BLOCK):
                self._append(reader.raw(places[start : start + _BLOCK]))
            self._commit = replace(new, rows=len(places))
            _retire(self._folder, old)
        except OSError as error:
            self.rollback()
            raise commits.problem(self._folder, error) from error
        self.commit()

    def _begin(self) -> None:
        if self._lock is not None:
            return
        self._lock = commits.lock(self._folder)
        with ExitStack() as undo:
            undo.callback(self.rollback)
            self._commit = self._store._commit(commits.read_bytes(self._folder))
            self._files = _open_tail(self._folder, self._commit)
            self._sums = {part: self._commit.sum(self._folder, part) for part in _PARTS}
            undo.pop_all()

    def _append(self, parts: dict[str, NDArray[Any]]) -> None:
        import numpy as np

        try:
            for part, array in parts.items():
                self._written.add(part)
                content = np.ascontiguousarray(array).data
                self._files[part].write(content)
                self._sums[part] = crc32(content, self._sums[part])
        except OSError as error:
            self.rollback()
            raise commits.problem(self._folder, error) from error


def _encoded(matrix: NDArray[Any]) -> tuple[NDArray[np.float16], NDArray[np.uint8], NDArray[np.float32]]:
    """Rows of length 1 as float16; the same as bytes; and for each the scale and 128 times the sum of its codes.

    The bytes are made from the float16, so that a vector that went through the cache gives the same ones.
    """
    import numpy as np

    whole = np.array(matrix, dtype=np.float64)
    whole[~np.isfinite(whole).all(axis=1)] = 0
    lengths = np.linalg.norm(whole, axis=1, keepdims=True)
    exact = np.divide(whole, lengths, out=np.zeros_like(whole), where=lengths > 0).astype("<f2")
    wide = exact.astype(np.float32)
    largest = np.abs(wide).max(axis=1)
    signed = np.rint(wide * (127 / np.where(largest == 0, 1, largest))[:, None]).astype(np.int16)
    scales = np.empty((len(wide), 2), dtype="<f4")
    scales[:, 0] = largest / 127
    scales[:, 1] = 128.0 * signed.sum(axis=1)
    return exact, (signed + 128).astype(np.uint8), scales


def _open_tail(folder: Path, commit: Commit) -> dict[str, IO[bytes]]:
    """Every part of this generation, cut to what counts and open at its end."""
    files: dict[str, IO[bytes]] = {}
    try:
        for part in _PARTS:
            path, size = commit.file(folder, part), commit.size(part)
            file = files[part] = open(path, "r+b" if size else "w+b", opener=private)  # noqa: SIM115
            commits.verify(path, size, None)
            if file.seek(0, os.SEEK_END) > size:  # a file that is mapped cannot be cut everywhere
                file.truncate(size)
            file.seek(size)
    except OSError as error:
        _close_all(files)
        raise commits.problem(folder, error) from error
    except IndexDamaged:
        _close_all(files)
        raise
    return files


def _close_all(files: dict[str, IO[bytes]]) -> None:
    """Close without minding what could not be written: it was not committed."""
    for file in files.values():
        try:
            file.close()
        except OSError:
            continue
    files.clear()


def _retire(folder: Path, commit: Commit) -> None:
    """Note in a generation's files when it stopped counting."""
    for part in _PARTS:
        if commit.file(folder, part).exists():
            os.utime(commit.file(folder, part))


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
