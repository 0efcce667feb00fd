"""The vector store: exact nearest neighbours over a memory-mapped matrix that many processes read while one appends.

Every vector is stored twice: as 8-bit codes with a scale, all scanned by SimSIMD, and as float16, by which the best
candidates are scored again. A large store has a sketch, which is scanned in place of the codes.

A generation is five files that only grow: row numbers, codes, scales, exact vectors, drops. The commit file names the
generation and the length of each. Bytes beyond those lengths were never committed and are cut off by the next writer.
The sketch is a sixth file, made of the others by a commit; a version that does not know it goes on without.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zlib import crc32

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.files import private
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.locks import FileLock
from watersmeet.core.model import Row
from watersmeet.core.options import option
from watersmeet.store.local import _file_commits as commits
from watersmeet.store.local import _sketch
from watersmeet.store.local._codes import Codes, coded, halved, widened
from watersmeet.store.local._file_checks import FileStamp, sum_of
from watersmeet.store.local._file_commits import ReaderCache
from watersmeet.store.local._row_slots import find, live
from watersmeet.store.local._sketch import Sketch, SketchPart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Matrix, RowArray, Vector

_PARTS = ("rows", "codes", "scales", "exact", "drops")
_BLOCK = 8192
_MIN_CACHED_ROWS, _MAX_CACHED_LISTS = 500, 32  # lists of at least so many rows are cached, at most so many
_MIN_RESCORED = 100
"""Candidates scored again by their exact vectors at least; else a quarter more than the limit. Of 29,600 that belonged
among the first hundred of a query on real documents, none ranked lower by its codes."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The committed generation, and its numbers of rows and drops."""

    dimension: int
    generation: int = 0
    rows: int = 0
    drops: int = 0
    sums: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Checksum and time stamp of each part, to detect damage; empty in older versions. Names the sketch, if any."""

    def __post_init__(self) -> None:
        commits.check_counts(self.dimension, self.generation, self.rows, self.drops)
        for total, changed in self.sums.values():
            commits.check_counts(total, changed)
        if self.sketch and not (0 < self.sketch.rows <= self.rows and 0 < self.sketch.width <= self.dimension):
            raise ValueError("its sketch has more rows or numbers than it has, or none")

    @property
    def sketch(self) -> SketchPart | None:
        return next(filter(None, map(SketchPart.named, self.sums)), None)

    @property
    def parts(self) -> tuple[str, ...]:
        return (*_PARTS, self.sketch.name) if self.sketch else _PARTS

    def verify(self, folder: Path, *, always: bool = False) -> None:
        for part in self.parts:
            stamp = FileStamp(*self.sums[part]) if part in self.sums else None
            commits.verify(self.file(folder, part), self.size(part), stamp, always=always)

    def sum(self, folder: Path, part: str) -> int:
        """The checksum of a part's committed bytes; computed now for an older version."""
        if part in self.sums:
            return self.sums[part][0]
        return sum_of(str(self.file(folder, part)), self.size(part)) if self.size(part) else 0

    def size(self, part: str) -> int:
        """The committed bytes of a part."""
        if self.sketch and part == self.sketch.name:
            return self.sketch.size(self.dimension)
        each = {"rows": 8, "codes": self.dimension, "scales": 8, "exact": 2 * self.dimension, "drops": 16}
        return each[part] * (self.drops if part == "drops" else self.rows)

    def file(self, folder: Path, part: str) -> Path:
        return folder / f"{self.generation:06d}.{part}"

    def has_sketch_of(self, other: Commit) -> bool:
        """Whether the sketch is the same file: then it need not be mapped again, which costs more than to scan it."""
        mine, theirs = self.sketch, other.sketch
        if mine is None or theirs is None or self.generation != other.generation:
            return False
        return self.sums[mine.name] == other.sums.get(theirs.name)

    def is_old(self, name: str, part: str) -> bool:
        """Whether a file belongs to another generation, or is a sketch that was replaced."""
        if _sketch.is_one(part):
            return part not in self.sums or int(name) != self.generation
        return part in _PARTS and int(name) != self.generation


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector store of one model: files in a folder, memory-mapped."""

    folder: str
    dimension: int
    grace: float = option(60.0, "seconds for which replaced files are kept for other processes", least=0)
    _cache: ReaderCache[Reader] = field(default_factory=ReaderCache, init=False, repr=False, compare=False)

    def reader(self) -> Reader:
        """A reader of the committed state; the same object until something is committed."""
        folder = Path(self.folder)
        return self._cache.current(folder, lambda content, last: Reader.map(folder, self._commit(content), last))

    def writer(self) -> Writer:
        return Writer(self)

    def verify(self) -> None:
        """Raises if any file is damaged; all of them are read."""
        folder = Path(self.folder)
        try:
            self._commit(commits.read_bytes(folder)).verify(folder, always=True)
        except OSError as error:
            raise commits.problem(folder, error) from error

    def close(self) -> None:
        self._cache.forget()

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


def stored_rows(folder: str) -> NDArray[np.int64]:
    """The live rows of a vector store of any dimension."""
    place = Path(folder)
    content = commits.read_bytes(place)
    commit = commits.decode(place, content, Commit) if content else Commit(0)
    return Reader.map(place, commit).keys


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A reader of one commit. `keys`: the live rows, ascending; `places`: their positions; `ranked`: positions that may
    be found; `hidden`: the others."""

    commit: Commit
    numbers: NDArray[np.int64]
    codes: Codes
    sketch: Sketch | None
    exact: NDArray[np.float16]
    keys: NDArray[np.int64]
    places: NDArray[np.int64]
    ranked: NDArray[np.bool_]
    hidden: NDArray[np.int64]
    allowed: dict[int, tuple[Collection[Row], int, NDArray[np.int64]]] = field(default_factory=dict, init=False)
    """A cache of the places of row lists, by the list's id: callers do not change a list that they pass again."""
    last_query: list[tuple[Vector, Vector]] = field(default_factory=list, init=False)
    """The last query vector, as given and normalised: it is used for search, then for scoring other signals' hits.
    Callers do not change it in between."""

    @classmethod
    def map(cls, folder: Path, commit: Commit, last: Reader | None = None) -> Reader:
        import numpy as np

        commit.verify(folder)
        numbers = _mapped(folder, commit, "rows", "<i8", (commit.rows,))
        scales, excesses = _mapped(folder, commit, "scales", "<f4", (commit.rows, 2)).T
        if not commit.sketch:  # else only those of few rows are read
            scales, excesses = np.ascontiguousarray(scales), np.ascontiguousarray(excesses)
        drops = _mapped(folder, commit, "drops", "<i8", (commit.drops, 2))
        keys, places = live(numbers, drops)
        ranked = np.zeros(commit.rows, dtype=np.bool_)
        ranked[places] = True
        ranked &= scales > 0
        return cls(
            commit=commit,
            numbers=numbers,
            codes=Codes(_mapped(folder, commit, "codes", "u1", (commit.rows, commit.dimension)), scales, excesses),
            sketch=last.sketch if last and commit.has_sketch_of(last.commit) else _map_sketch(folder, commit),
            exact=_mapped(folder, commit, "exact", "<f2", (commit.rows, commit.dimension)),
            keys=keys,
            places=places,
            ranked=ranked,
            hidden=np.flatnonzero(~ranked),
        )

    @property
    def size(self) -> int:
        """The number of live rows."""
        return len(self.keys)

    @property
    def garbage(self) -> float:
        """The share of the files that compaction would free."""
        return 1 - len(self.keys) / len(self.numbers) if len(self.numbers) else 0.0

    def rows(self) -> RowArray:
        return self.keys

    def has(self, rows: Collection[Row] | RowArray) -> NDArray[np.bool_]:
        """Whether each of these rows is live in this store."""
        return self._find(rows) >= 0

    def vectors(self, rows: Collection[Row] | RowArray) -> Matrix:
        """A vector for each of these rows; zeros for one that is not stored."""
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
        candidates = max(_MIN_RESCORED, limit + limit // 4)
        places = self._scan(query, candidates, None if within is None else self._allowed(within))
        numbers, cosines = self._cosines(query, places)
        first = np.lexsort((numbers, -cosines))[:limit]
        return list(zip(numbers[first].tolist(), cosines[first].tolist(), strict=True))

    def score(self, vector: Vector, rows: Collection[Row] | RowArray) -> dict[Row, float]:
        """Cosines of those of these rows that are stored and not zero."""
        query = self._query(vector)
        if query is None:
            return {}
        places = self._find(rows)
        places = places[places >= 0]
        numbers, cosines = self._cosines(query, places[self.ranked[places]])
        return dict(zip(numbers.tolist(), cosines.tolist(), strict=True))

    def places_of(self, rows: Collection[Row]) -> NDArray[np.int64]:
        """The places of those of these rows that are stored."""
        places = self._find(rows)
        return places[places >= 0]

    def raw(self, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The stored data at these places, by part."""
        import numpy as np

        parts: dict[str, NDArray[Any]] = {"rows": self.numbers, "codes": self.codes.codes, "exact": self.exact}
        scales = np.stack([self.codes.scales[places], self.codes.excesses[places]], axis=1)
        return {"scales": scales, **{part: array[places] for part, array in parts.items()}}

    def _query(self, vector: Vector) -> Vector | None:
        """The normalised query vector; None if it is zero or not finite."""
        import numpy as np

        for original, normalised in self.last_query:
            if original is vector:
                return normalised
        query = np.asarray(vector, dtype=np.float64)
        if query.shape != self.exact.shape[1:]:
            raise IndexMismatch(
                f"the model gave a vector of {query.size} numbers, and the index holds those of {self.exact.shape[1]}",
                "use the model that it was built with, or run `watersmeet sync --recreate`",
            )
        length = math.sqrt(query.dot(query))
        if not math.isfinite(length) or length == 0:
            return None
        normalised = (query / length).astype(np.float32)
        self.last_query[:] = [(vector, normalised)]
        return normalised

    def _find(self, rows: Collection[Row] | RowArray) -> NDArray[np.int64]:
        """The place of each of these rows; -1 for one that is not live."""
        return find(self.keys, self.places, rows)

    def _allowed(self, within: Collection[Row] | RowArray) -> NDArray[np.int64]:
        """The places that may be found; cached for long lists, since several signals pass the same list."""
        import numpy as np

        cached = self.allowed.get(id(within))
        if cached is not None and cached[0] is within and len(within) == cached[1]:
            return cached[2]
        found = self._find(within)
        allowed = np.zeros(len(self.numbers), dtype=np.bool_)
        allowed[found[found >= 0]] = True
        places = np.flatnonzero(allowed & self.ranked)
        if len(within) >= _MIN_CACHED_ROWS:
            if len(self.allowed) >= _MAX_CACHED_LISTS:
                self.allowed.clear()
            self.allowed[id(within)] = (within, len(within), places)
        return places

    def _scan(self, query: Vector, count: int, places: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The best places by their codes, among these or all."""
        many = places is None or len(places) >= _sketch.LEAST_ROWS
        if self.sketch is not None and many and self.sketch.covers(query):
            places = self._candidates(self.sketch, query, count, places)
        return self.codes.best(query, count, places, self.hidden, self.numbers)

    def _candidates(
        self, sketch: Sketch, query: Vector, count: int, places: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """The best places by the sketch, and those of the rows added since by their codes."""
        import numpy as np

        covered = len(sketch.codes)
        hidden, hidden_since = _parted(self.hidden, covered)
        first, since = (None, None) if places is None else _parted(places, covered)
        found = sketch.best(query, count, first, hidden, self.numbers[:covered])
        later = self.codes.from_place(covered).best(query, count, since, hidden_since, self.numbers[covered:])
        return np.concatenate([np.sort(found), np.sort(later) + covered])

    def _cosines(self, query: Vector, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and exact cosines at these places; each is computed alone, so that it does not depend on others."""
        import numpy as np

        exact = widened(self.exact[places])
        cosines = np.einsum("ij,j->i", exact, query) / np.sqrt(np.einsum("ij,ij->i", exact, exact))
        return self.numbers[places], cosines.clip(-1, 1)


class Writer:
    """A writer. A transaction begins with the first `add` or `drop` and ends with `commit` or `rollback`."""

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
            exact = halved(matrix)
            codes, scales = coded(widened(exact))  # of the float16 values, so that a cached vector gives the same codes
            self._begin()
            parts = {"rows": np.asarray(rows, dtype="<i8"), "codes": codes, "scales": scales, "exact": exact}
            self._append(parts)
            self._commit = replace(self._commit, rows=self._commit.rows + len(rows))

    def drop(self, rows: Collection[Row]) -> None:
        """Drops rows; a row may be added again later."""
        import numpy as np

        if len(rows):
            self._begin()
            drops = np.full((len(rows), 2), self._commit.rows, dtype="<i8")
            drops[:, 0] = np.fromiter(rows, dtype=np.int64, count=len(rows))
            self._append({"drops": drops})
            self._commit = replace(self._commit, drops=self._commit.drops + len(rows))

    def copy(self, reader: Reader, rows: Collection[Row]) -> None:
        """Adds the vectors that another store has of these rows, bit by bit."""
        self._begin()
        places = reader.places_of(rows)
        self._append_raw(reader, places)
        self._commit = replace(self._commit, rows=self._commit.rows + len(places))

    def commit(self) -> None:
        """Commits: durable first, then visible. Does nothing without a transaction."""
        if self._lock is None:
            return
        try:
            for part in sorted(self._written):
                commits.sync(self._files[part])
            changed = {part: os.fstat(file.fileno()).st_mtime_ns for part, file in self._files.items()}
            sums = {part: (self._sums[part], changed[part]) for part in changed}
            self._commit = replace(self._commit, sums=sums | self._sketch_sums())
            commits.publish(self._folder, asdict(self._commit))
            commits.sweep(self._folder, self._commit.is_old, self._store.grace)
        except OSError as error:
            raise commits.problem(self._folder, error) from error
        finally:
            self.rollback()

    def _sketch_sums(self) -> dict[str, Sequence[int]]:
        """The checksum and the time stamp of the sketch, made now if it is due; empty without one."""
        commit = self._commit
        part = _sketch.due(commit.rows, commit.dimension, commit.sketch)
        if part is None:
            return {commit.sketch.name: commit.sums[commit.sketch.name]} if commit.sketch else {}
        path = commit.file(self._folder, part.name)
        shape = commit.rows, commit.dimension
        with commits.replaced(path) as file:
            total = _sketch.write(file, _mapped(self._folder, commit, "exact", "<f2", shape), part)
        if commit.sketch:
            os.utime(commit.file(self._folder, commit.sketch.name))  # its grace period begins
        return {part.name: (total, path.stat().st_mtime_ns)}

    def rollback(self) -> None:
        """Rolls back and releases the lock."""
        self._written.clear()
        _close_all(self._files)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def compact(self) -> None:
        """Commits, then writes the live rows to new files; old files go after the grace period."""
        self.commit()
        self._begin()
        try:
            old = self._commit
            old.verify(self._folder, always=True)  # else damaged data would get a valid checksum
            reader = Reader.map(self._folder, old)
            new = Commit(old.dimension, old.generation + 1)
            _close_all(self._files)
            self._files = _open_tail(self._folder, new)
            self._sums = dict.fromkeys(_PARTS, 0)
            self._append_raw(reader, reader.places)
            self._commit = replace(new, rows=len(reader.places))
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

    def _append_raw(self, reader: Reader, places: NDArray[np.int64]) -> None:
        for start in range(0, len(places), _BLOCK):
            self._append(reader.raw(places[start : start + _BLOCK]))

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


def _parted(places: NDArray[np.int64], at: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places before this one, and the others counted from it."""
    cut = places.searchsorted(at)
    return places[:cut], places[cut:] - at


def _open_tail(folder: Path, commit: Commit) -> dict[str, IO[bytes]]:
    """Opens every part of a generation, truncated to its committed length, at its end."""
    files: dict[str, IO[bytes]] = {}
    try:
        for part in _PARTS:
            path, size = commit.file(folder, part), commit.size(part)
            file = files[part] = open(path, "r+b" if size else "w+b", opener=private)  # noqa: SIM115
            commits.verify(path, size, None)
            if file.seek(0, os.SEEK_END) > size:  # some systems cannot truncate a mapped file
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
    """Closes files, ignoring write errors: that data was not committed."""
    for file in files.values():
        try:
            file.close()
        except OSError:
            continue
    files.clear()


def _retire(folder: Path, commit: Commit) -> None:
    """Sets the time stamps of a replaced generation, from which its grace period counts."""
    for part in commit.parts:
        if commit.file(folder, part).exists():
            os.utime(commit.file(folder, part))


def _map_sketch(folder: Path, commit: Commit) -> Sketch | None:
    part = commit.sketch
    return Sketch.map(commit.file(folder, part.name), part, commit.dimension) if part else None


def _mapped(folder: Path, commit: Commit, part: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    import numpy as np

    if not shape[0]:
        return np.zeros(shape, dtype=kind)
    return np.asarray(np.memmap(commit.file(folder, part), dtype=kind, mode="r", shape=shape))
