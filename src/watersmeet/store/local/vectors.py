"""Which vectors are nearest, exactly? A memory-mapped matrix that many processes read while one appends.

Every vector is kept twice: as bytes with a scale, scanned whole by SimSIMD, and as float16, by which the best
candidates are scored again. SimSIMD multiplies unsigned bytes about a third faster than signed ones, so codes
are stored with 128 added, and each row's share of the excess beside its scale.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zlib import crc32

from watersmeet.core.errors import IndexMismatch
from watersmeet.core.locks import FileLock
from watersmeet.core.model import Row
from watersmeet.core.options import option
from watersmeet.store.local import _file_commits as commits
from watersmeet.store.local import _vector_files as files
from watersmeet.store.local._file_commits import Opened
from watersmeet.store.local._vector_files import Commit
from watersmeet.store.local._vector_reader import Reader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Matrix

_BLOCK = 8192


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
        files.close_all(self._files)
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
            files.close_all(self._files)
            self._files = files.open_tail(self._folder, new)
            self._sums = dict.fromkeys(files.PARTS, 0)
            places = reader.places
            for start in range(0, len(places), _BLOCK):
                self._append(reader.raw(places[start : start + _BLOCK]))
            self._commit = replace(new, rows=len(places))
            files.retire(self._folder, old)
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
            self._files = files.open_tail(self._folder, self._commit)
            self._sums = {part: self._commit.sum(self._folder, part) for part in files.PARTS}
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
