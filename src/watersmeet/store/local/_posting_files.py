"""One segment of a store of postings: a file that is written once, and what it says when it is mapped.

In it, one after the other: the rows that were added, those that were dropped before them, the terms in ascending
order, where each term's postings begin, then for each posting its slot in `rows` and its weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zlib import crc32

from watersmeet.store.local import _file_commits as commits
from watersmeet.store.local._file_checks import FileStamp

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.sparse import Weighted

ENDING = "postings"


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment's number, which names its file, and how many entries it has of each kind."""

    number: int
    rows: int
    drops: int
    terms: int
    postings: int
    sum: int = 0
    changed: int = 0
    """What is remembered to tell whether it is damaged; nothing by an older version."""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return 8 * (self.rows + self.drops + 2 * self.terms + 1) + 6 * self.postings

    def verify(self, folder: Path, *, always: bool = False) -> None:
        kept = FileStamp(self.sum, self.changed) if self.changed else None
        commits.verify(self.file(folder), self.size, kept, always=always)

    @property
    def parts(self) -> Iterator[tuple[str, int]]:
        """The type and length of each array of the file, in order; the wide ones first, so that all are aligned."""
        yield from (("<i8", self.rows), ("<i8", self.drops), ("<i8", self.terms), ("<i8", self.terms + 1))
        yield from (("<u4", self.postings), ("<f2", self.postings))

    def file(self, folder: Path) -> Path:
        return folder / f"{self.number:06d}.{ENDING}"


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a segment says, in memory or mapped."""

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


def made(rows: Sequence[int], drops: Sequence[int], texts: Sequence[Weighted]) -> Content:
    """A segment from texts; what has no positive weight says nothing and is left out."""
    import numpy as np

    counts = [len(text.terms) for text in texts]
    terms = np.concatenate([np.zeros(0, np.int64), *(text.terms for text in texts)])
    with np.errstate(over="ignore"):
        weights = np.concatenate([np.zeros(0), *(text.weights for text in texts)]).astype("<f2")
    slots = np.repeat(np.arange(len(texts), dtype="<u4"), counts)
    keep = np.flatnonzero((weights > 0) & np.isfinite(weights))
    order = keep[np.argsort(terms[keep], kind="stable")]
    known, starts = np.unique(terms[order], return_index=True)
    return Content(
        np.array(rows, dtype="<i8"),
        np.array(drops, dtype="<i8"),
        known.astype("<i8"),
        np.append(starts, len(order)).astype("<i8"),
        slots[order],
        weights[order],
    )


def merged(contents: Sequence[Content], kept: Sequence[NDArray[np.bool_]], drops: NDArray[np.int64]) -> Content:
    """Several segments as one, in their order; `kept` says which slots of each go into it.

    Nothing is sorted: how many postings each segment has of each term says where they belong.
    """
    import numpy as np

    terms = np.unique(np.concatenate([content.terms for content in contents]))
    counts = np.zeros((len(contents), len(terms)), dtype=np.int64)
    alive = [mask[content.slots] for content, mask in zip(contents, kept, strict=True)]
    for number, content in enumerate(contents):
        before = np.concatenate([[0], np.cumsum(alive[number])])
        counts[number, np.searchsorted(terms, content.terms)] = np.diff(before[content.starts])
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    slots = np.empty(starts[-1], dtype="<u4")
    weights = np.empty(starts[-1], dtype="<f2")
    begin, base = starts[:-1].copy(), 0
    for number, content in enumerate(contents):
        count = counts[number]
        places = np.arange(count.sum()) + np.repeat(begin - (np.cumsum(count) - count), count)
        renumbered = base + np.cumsum(kept[number]) - 1
        slots[places] = renumbered[content.slots[alive[number]]]
        weights[places] = content.weights[alive[number]]
        begin += count
        base += int(kept[number].sum())
    used = np.diff(starts) > 0
    rows = np.concatenate([content.rows[mask] for content, mask in zip(contents, kept, strict=True)])
    return Content(rows, drops, terms[used], np.append(starts[:-1][used], starts[-1]), slots, weights)


def write(file: IO[bytes], content: Content) -> int:
    """The sum of what was written."""
    import numpy as np

    total = 0
    for array, (kind, _) in zip(content.arrays, content.described(0).parts, strict=True):
        part = np.ascontiguousarray(array, dtype=kind).data
        file.write(part)
        total = crc32(part, total)
    return total


def mapped(folder: Path, segment: Segment) -> Content:
    import numpy as np

    segment.verify(folder)
    whole = np.asarray(np.memmap(segment.file(folder), dtype="u1", mode="r", shape=(segment.size,)))
    arrays, at = [], 0
    for kind, count in segment.parts:
        end = at + np.dtype(kind).itemsize * count
        arrays.append(whole[at:end].view(kind))
        at = end
    return Content(*arrays)
