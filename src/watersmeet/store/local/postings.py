"""The posting store of weighted (sparse) terms: memory-mapped segments that many processes read while one writes.

A transaction becomes one segment, an immutable file. When segments are many, the last ones are merged. Of a row added
twice the last segment counts; a drop applies to all segments before its own.

A segment file has, in this order: the added rows, the rows dropped before them, the terms in ascending order, the start
of each term's postings, then for each posting its slot in `rows` and its weight.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zlib import crc32

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.files import private
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.locks import FileLock
from watersmeet.core.model import Row
from watersmeet.core.options import option
from watersmeet.store.local import _file_commits as commits
from watersmeet.store.local._file_checks import FileStamp
from watersmeet.store.local._file_commits import ReaderCache
from watersmeet.store.local._row_slots import find, largest, live

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import RowArray

_ENDING = "postings"
_MAX_SEGMENTS = 8
"""With more segments than this, the last ones are merged."""
_BYTES_MERGED = 64
"""Memory that a posting takes while it is merged."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment's number, which names its file, and the length of each of its arrays."""

    number: int
    rows: int
    drops: int
    terms: int
    postings: int
    sum: int = 0
    changed: int = 0
    """Checksum and time stamp, to detect damage; 0 in older versions."""

    def __post_init__(self) -> None:
        commits.check_counts(self.number, self.rows, self.drops, self.terms, self.postings, self.sum, self.changed)

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return 8 * (self.rows + self.drops + 2 * self.terms + 1) + 6 * self.postings

    def verify(self, folder: Path, *, always: bool = False) -> None:
        stamp = FileStamp(self.sum, self.changed) if self.changed else None
        commits.verify(self.file(folder), self.size, stamp, always=always)

    @property
    def parts(self) -> Iterator[tuple[str, int]]:
        """The type and length of each array of the file, in order; the wide ones first, so that all are aligned."""
        yield from (("<i8", self.rows), ("<i8", self.drops), ("<i8", self.terms), ("<i8", self.terms + 1))
        yield from (("<u4", self.postings), ("<f2", self.postings))

    def file(self, folder: Path) -> Path:
        return folder / f"{self.number:06d}.{_ENDING}"


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The arrays of a segment, in memory or mapped."""

    rows: NDArray[np.int64]
    drops: NDArray[np.int64]
    terms: NDArray[np.int64]
    starts: NDArray[np.int64]
    slots: NDArray[np.uint32]
    weights: NDArray[np.float16]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.rows, self.drops, self.terms, self.starts, self.slots, self.weights)

    def described(self, number: int) -> Segment:
        return Segment(number, len(self.rows), len(self.drops), len(self.terms), len(self.slots))

    def of(self, term: int) -> tuple[NDArray[np.uint32], NDArray[np.float16]]:
        """The postings of a term."""
        at = int(self.terms.searchsorted(term))
        if at == len(self.terms) or self.terms[at] != term:
            return self.slots[:0], self.weights[:0]
        start, end = int(self.starts[at]), int(self.starts[at + 1])
        return self.slots[start:end], self.weights[start:end]

    def between(self, first: int, last: int) -> Content:
        """The terms from `first` to `last`, and their postings."""
        begin, end = int(self.terms.searchsorted(first)), int(self.terms.searchsorted(last, side="right"))
        starts = self.starts[begin : end + 1]
        postings = slice(int(starts[0]), int(starts[-1]))
        return replace(
            self,
            terms=self.terms[begin:end],
            starts=starts - starts[0],
            slots=self.slots[postings],
            weights=self.weights[postings],
        )


@dataclass(frozen=True, slots=True)
class _Commit:
    """The current segments, oldest first, and the number of the next one."""

    segments: tuple[Segment, ...] = ()
    following: int = 0

    @classmethod
    def read(cls, segments: list[dict[str, int]], following: int) -> _Commit:
        return cls(tuple(Segment(**segment) for segment in segments), following)

    def is_old(self, name: str, ending: str) -> bool:
        return ending == _ENDING and int(name) not in {segment.number for segment in self.segments}


@dataclass(frozen=True, slots=True)
class Postings:
    """The posting store of one model: segments in a folder."""

    folder: str
    grace: float = option(60.0, "seconds for which replaced files are kept for other processes", least=0)
    merge_bytes: int = option(100_000_000, "memory for merging segments; less takes no longer", least=1_000_000)
    _cache: ReaderCache[Reader] = field(default_factory=ReaderCache, init=False, repr=False, compare=False)

    def reader(self) -> Reader:
        """A reader of the committed state; the same object until something is committed."""
        folder = Path(self.folder)
        return self._cache.current(folder, lambda content, _: _map_reader(folder, _commit_of(folder, content)))

    def writer(self) -> Writer:
        return Writer(self)

    def verify(self) -> None:
        """Raises if any file is damaged; all of them are read."""
        folder = Path(self.folder)
        try:
            for segment in _commit_of(folder, commits.read_bytes(folder)).segments:
                segment.verify(folder, always=True)
        except OSError as error:
            raise commits.problem(folder, error) from error

    def close(self) -> None:
        self._cache.forget()


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A reader of one commit. `numbers`: the row of every slot; `keys`: the live rows; `slots`: their slots; `counted`:
    the slots that count in term rarity, if not all do."""

    segments: tuple[Content, ...]
    bases: tuple[int, ...]
    numbers: NDArray[np.int64]
    keys: NDArray[np.int64]
    slots: NDArray[np.int64]
    counted: NDArray[np.bool_] | None = None

    def without(self, rows: Collection[Row]) -> Reader:
        """The same reader, but these rows do not count in term rarity."""
        import numpy as np

        hidden = find(self.keys, self.slots, rows)
        hidden = hidden[hidden >= 0]
        if not len(hidden):
            return self
        counted = np.zeros(len(self.numbers), dtype=np.bool_)
        counted[self.slots] = True
        counted[hidden] = False
        return replace(self, counted=counted)

    @property
    def size(self) -> int:
        """The number of live rows."""
        return len(self.keys)

    @property
    def garbage(self) -> float:
        """The share of the slots that compaction would free."""
        return 1 - len(self.keys) / len(self.numbers) if len(self.numbers) else 0.0

    def rows(self) -> RowArray:
        return self.keys

    def has(self, rows: Collection[Row] | RowArray) -> NDArray[np.bool_]:
        """Whether each of these rows is live in this store."""
        return find(self.keys, self.slots, rows) >= 0

    def frequency(self, term: int) -> int:
        """The number of texts with this term; replaced ones count until compaction."""
        return sum(len(segment.of(term)[0]) for segment in self.segments)

    def search(
        self, query: Weighted, limit: int, within: Collection[Row] | RowArray | None = None
    ) -> list[tuple[Row, float]]:
        """The rows with the highest scores; only among `within`, if it is given."""
        if limit <= 0:
            return []
        slots = self.slots if within is None else find(self.keys, self.slots, within)
        return self._best(query, slots, limit)

    def score(self, query: Weighted, rows: Collection[Row] | RowArray) -> dict[Row, float]:
        """Scores of those of these rows that share a term with the query."""
        return dict(self._best(query, find(self.keys, self.slots, rows), len(rows)))

    def _scores(self, query: Weighted) -> NDArray[np.float32]:
        """The score of every slot: the dot product with the query."""
        import numpy as np

        scores = np.zeros(len(self.numbers), dtype=np.float32)
        for term, weight in zip(query.terms.tolist(), query.weights.tolist(), strict=True):
            found = [segment.of(term) for segment in self.segments]
            for base, (slots, _) in zip(self.bases, found, strict=True):
                self._check_slots(slots, len(scores) - base)
            if query.rarely:
                weight *= self._rarity([slots for slots, _ in found])
            if not weight > 0 or not math.isfinite(weight):
                continue
            for base, (slots, weights) in zip(self.bases, found, strict=True):
                if len(slots):
                    part = scores[base:]
                    part[slots] += weights * np.float32(weight)
        return scores

    def _rarity(self, found: Sequence[NDArray[Any]]) -> float:
        """The rarity of a term, from its slots in each segment."""
        if self.counted is None:
            return _rarity(sum(map(len, found)), len(self.numbers))
        both = zip(self.bases, found, strict=True)
        return _rarity(sum(int(self.counted[base + slots].sum()) for base, slots in both), int(self.counted.sum()))

    def _check_slots(self, slots: NDArray[np.uint32], slot_count: int) -> None:
        if len(slots) and int(slots.max()) >= slot_count:
            raise IndexDamaged("the sparse terms are damaged: a posting names a missing text", commits.HINT)

    def _best(self, query: Weighted, slots: NDArray[np.int64], limit: int) -> list[tuple[Row, float]]:
        """The highest scores among these slots; a negative slot is none."""
        import numpy as np

        scores = self._scores(query)
        if slots is not self.slots or self.garbage:
            allowed = np.zeros(len(scores), dtype=np.bool_)
            allowed[slots[slots >= 0]] = True
            scores[~allowed] = 0
        found = np.flatnonzero(scores)
        found = found[largest(scores[found], limit, self.numbers[found])]
        found = found[np.lexsort((self.numbers[found], -scores[found]))[:limit]]
        pairs = zip(self.numbers[found].tolist(), scores[found].tolist(), strict=True)
        return [(Row(row), score) for row, score in pairs]


class Writer:
    """A writer. A transaction begins with the first `add` or `drop` and ends with `commit` or `rollback`."""

    def __init__(self, store: Postings) -> None:
        self._store = store
        self._folder = Path(store.folder)
        self._lock: FileLock | None = None
        self._commit = _Commit()
        self._texts: dict[int, Weighted] = {}
        self._drops: dict[int, None] = {}

    def add(self, rows: Sequence[Row], texts: Sequence[Weighted]) -> None:
        if len(rows) != len(texts):
            raise ValueError(f"{len(rows)} rows, but {len(texts)} texts")
        if len(rows):
            self._begin()
            self._texts.update(zip(rows, texts, strict=True))

    def drop(self, rows: Collection[Row]) -> None:
        """Drops rows; a row may be added again later."""
        if len(rows):
            self._begin()
            for row in rows:
                self._texts.pop(row, None)
                self._drops[row] = None

    def copy(self, reader: Reader, rows: Collection[Row]) -> None:
        """Adds the terms that another store has of these rows, bit by bit, as one segment."""
        import numpy as np

        self._begin()
        if not reader.segments:
            return
        slots = find(reader.keys, reader.slots, rows)
        wanted = np.zeros(len(reader.numbers), dtype=np.bool_)
        wanted[slots[slots >= 0]] = True
        bases = zip(reader.bases, reader.segments, strict=True)
        masks = [wanted[base : base + len(content.rows)] for base, content in bases]
        self._append(self._merged(reader.segments, masks, np.zeros(0, np.int64)), len(self._commit.segments))

    def commit(self) -> None:
        """Commits: durable first, then visible. Does nothing without a transaction."""
        if self._lock is None:
            return
        try:
            if self._texts or self._drops:
                rows = sorted(self._texts)
                texts = [self._texts[row] for row in rows]
                self._append(_segment_of(rows, [*self._drops], texts), len(self._commit.segments))
            if len(self._commit.segments) > _MAX_SEGMENTS:
                self._merge(_first_to_merge([segment.postings for segment in self._commit.segments]))
            commits.publish(self._folder, asdict(self._commit))
            commits.sweep(self._folder, self._commit.is_old, self._store.grace)
        except OSError as error:
            raise commits.problem(self._folder, error) from error
        finally:
            self.rollback()

    def rollback(self) -> None:
        """Rolls back and releases the lock."""
        self._texts, self._drops = {}, {}
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def compact(self) -> None:
        """Commits, then merges all segments into one with live rows only; old files go after the grace period."""
        self.commit()
        self._begin()
        try:
            if self._commit.segments:
                self._merge(0)
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
            self._commit = _commit_of(self._folder, commits.read_bytes(self._folder))
            undo.pop_all()

    def _append(self, content: Content, start: int) -> None:
        """Writes a segment that replaces those from `start` on at the next commit."""
        segment = content.described(self._commit.following)
        with open(segment.file(self._folder), "wb", opener=private) as file:
            total = _write(file, content)
            commits.sync(file)
            segment = replace(segment, sum=total, changed=os.fstat(file.fileno()).st_mtime_ns)
        segments = (*self._commit.segments[:start], segment)
        self._commit = replace(self._commit, segments=segments, following=segment.number + 1)

    def _merge(self, start: int) -> None:
        """Merges the segments from `start` on. Their drops still apply to earlier segments."""
        import numpy as np

        for segment in self._commit.segments:
            segment.verify(self._folder, always=True)  # else damaged data would get a valid checksum
        reader = _map_reader(self._folder, self._commit)
        alive = np.zeros(len(reader.numbers), dtype=np.bool_)
        alive[reader.slots] = True
        old = reader.segments[start:]
        masks = [
            alive[base : base + len(content.rows)] for base, content in zip(reader.bases[start:], old, strict=True)
        ]
        drops = np.unique(np.concatenate([content.drops for content in old])) if start else np.zeros(0, np.int64)
        for segment in self._commit.segments[start:]:
            os.utime(segment.file(self._folder))
        self._append(self._merged(old, masks, drops), start)

    def _merged(
        self, contents: Sequence[Content], masks: Sequence[NDArray[np.bool_]], drops: NDArray[np.int64]
    ) -> Content:
        return _merged(contents, masks, drops, self._folder, self._store.merge_bytes)


def _segment_of(rows: Sequence[int], drops: Sequence[int], texts: Sequence[Weighted]) -> Content:
    """Builds a segment from texts; postings without a positive weight are left out."""
    import numpy as np

    counts = [len(text.terms) for text in texts]
    terms = np.concatenate([np.zeros(0, np.int64), *(text.terms for text in texts)])
    with np.errstate(over="ignore"):
        weights = np.concatenate([np.zeros(0), *(text.weights for text in texts)]).astype("<f2")
    slots = np.repeat(np.arange(len(texts), dtype="<u4"), counts)
    keep = np.flatnonzero((weights > 0) & np.isfinite(weights))
    order = keep[np.argsort(terms[keep], kind="stable")]
    unique_terms, starts = np.unique(terms[order], return_index=True)
    return Content(
        np.array(rows, dtype="<i8"),
        np.array(drops, dtype="<i8"),
        unique_terms.astype("<i8"),
        np.append(starts, len(order)).astype("<i8"),
        slots[order],
        weights[order],
    )


def _merged(
    contents: Sequence[Content],
    masks: Sequence[NDArray[np.bool_]],
    drops: NDArray[np.int64],
    folder: Path,
    merge_bytes: int,
) -> Content:
    """Merges segments in their order; `masks` select the slots of each that are kept.

    Term after term, as many at a time as `merge_bytes` have room for. Postings are collected in temporary files.
    """
    import numpy as np

    rows = np.concatenate([content.rows[mask] for content, mask in zip(contents, masks, strict=True)])
    new_slots, base = [], 0
    for mask in masks:
        new_slots.append((base + np.cumsum(mask) - 1).astype("<u4"))
        base += int(mask.sum())
    from tempfile import TemporaryFile  # here: only a writer needs it

    terms, counts = [np.zeros(0, "<i8")], [np.zeros(1, "<i8")]
    with TemporaryFile(dir=folder) as slots, TemporaryFile(dir=folder) as weights:
        for first, last in _term_ranges(contents, max(1, merge_bytes // _BYTES_MERGED)):
            parts = [content.between(first, last) for content in contents]
            merged_terms, merged_counts, merged_slots, merged_weights = _merged_range(parts, masks, new_slots)
            terms.append(merged_terms)
            counts.append(merged_counts)
            slots.write(merged_slots.data)
            weights.write(merged_weights.data)
        starts = np.concatenate(counts).cumsum()
        return Content(
            rows,
            drops,
            np.concatenate(terms),
            starts,
            _mapped(slots, "<u4", starts[-1]),
            _mapped(weights, "<f2", starts[-1]),
        )


def _term_ranges(contents: Sequence[Content], most: int) -> Iterator[tuple[int, int]]:
    """First and last term of ranges that have at most so many postings, or are one term."""
    import numpy as np

    terms = np.unique(np.concatenate([content.terms for content in contents]))
    sizes = np.zeros(len(terms), np.int64)
    for content in contents:
        sizes[terms.searchsorted(content.terms)] += np.diff(content.starts)
    ends, first = sizes.cumsum(), 0
    while first < len(terms):
        before = ends[first] - sizes[first]
        after = max(first + 1, int(ends.searchsorted(before + most, side="right")))
        yield int(terms[first]), int(terms[after - 1])
        first = after


def _merged_range(
    parts: Sequence[Content], masks: Sequence[NDArray[np.bool_]], new_slots: Sequence[NDArray[np.uint32]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[np.float16]]:
    """Terms with their numbers of postings, and these postings, of one range of terms.

    Nothing is sorted: the number of postings of each term in each segment gives their positions.
    """
    import numpy as np

    terms = np.unique(np.concatenate([part.terms for part in parts]))
    counts = np.zeros((len(parts), len(terms)), dtype=np.int64)
    alive = [mask[part.slots] for part, mask in zip(parts, masks, strict=True)]
    for number, part in enumerate(parts):
        before = np.concatenate([[0], np.cumsum(alive[number])])
        counts[number, np.searchsorted(terms, part.terms)] = np.diff(before[part.starts])
    total = counts.sum(axis=0)
    starts = np.concatenate([[0], np.cumsum(total)])
    slots = np.empty(starts[-1], dtype="<u4")
    weights = np.empty(starts[-1], dtype="<f2")
    begin = starts[:-1].copy()
    for number, part in enumerate(parts):
        count = counts[number]
        places = np.arange(count.sum()) + np.repeat(begin - (np.cumsum(count) - count), count)
        slots[places] = new_slots[number][part.slots[alive[number]]]
        weights[places] = part.weights[alive[number]]
        begin += count
    used = total > 0
    return terms[used], total[used], slots, weights


def _mapped(file: IO[bytes], kind: str, count: int) -> NDArray[Any]:
    import numpy as np

    file.flush()
    return np.asarray(np.memmap(file, dtype=kind, mode="r", shape=(int(count),))) if count else np.zeros(0, kind)


def _write(file: IO[bytes], content: Content) -> int:
    """Writes a segment; returns its checksum."""
    import numpy as np

    total = 0
    for array, (kind, _) in zip(content.arrays, content.described(0).parts, strict=True):
        part = np.ascontiguousarray(array, dtype=kind).data
        file.write(part)
        total = crc32(part, total)
    return total


def _map_segment(folder: Path, segment: Segment) -> Content:
    import numpy as np

    segment.verify(folder)
    whole = np.asarray(np.memmap(segment.file(folder), dtype="u1", mode="r", shape=(segment.size,)))
    arrays, at = [], 0
    for kind, count in segment.parts:
        end = at + np.dtype(kind).itemsize * count
        arrays.append(whole[at:end].view(kind))
        at = end
    return Content(*arrays)


def _commit_of(folder: Path, content: bytes) -> _Commit:
    return commits.decode(folder, content, _Commit.read) if content else _Commit()


def _map_reader(folder: Path, commit: _Commit) -> Reader:
    import numpy as np

    segments = tuple(_map_segment(folder, segment) for segment in commit.segments)
    ends = np.cumsum([0, *(len(segment.rows) for segment in segments)]).tolist()
    nothing: NDArray[Any] = np.zeros(0, dtype=np.int64)
    numbers = np.concatenate([nothing, *(segment.rows for segment in segments)])
    keys, slots = live(numbers, np.concatenate([nothing.reshape(0, 2), *_dropped(segments, ends)]))
    return Reader(segments, tuple(ends[:-1]), numbers, keys, slots)


def _dropped(segments: Sequence[Content], bases: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """Dropped rows, each with the number of slots before it."""
    import numpy as np

    for segment, base in zip(segments, bases, strict=False):
        yield np.stack([segment.drops, np.full(len(segment.drops), base)], axis=1)


def _first_to_merge(sizes: Sequence[int]) -> int:
    """The first segment to merge: at least half of them, and more while the next is no larger than their sum."""
    start = len(sizes) - _MAX_SEGMENTS // 2
    total = sum(sizes[start:])
    while start > 0 and sizes[start - 1] <= total:
        start -= 1
        total += sizes[start]
    return start


def _rarity(frequency: int, size: int) -> float:
    """BM25's inverse document frequency; never negative."""
    return math.log1p((size - frequency + 0.5) / (frequency + 0.5))
