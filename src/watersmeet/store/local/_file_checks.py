"""Are the files of a store as they were written? Sizes and time stamps are compared at each opening, sums if in doubt.

A file that has its size and its time of modification is taken for sound; one that was copied, restored or overwritten
has another time, and is read through. `doctor` reads all, and marks the folder of a store that is damaged: readers then
step aside, and the next `sync` makes the store again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from watersmeet.core.errors import IndexDamaged

MARK = "damaged"
"""A file with the reason, in the folder of what is damaged."""
_BLOCK = 1 << 20
_SECOND = 1_000_000_000


class FileStamp(NamedTuple):
    """What is remembered of a file: the sum of what counts of it, and when it was last changed, in ns."""

    sum: int
    changed: int


def sum_of(path: str, size: int, start: int = 0) -> int:
    """The sum of its first bytes."""
    total = start
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(_BLOCK, size))):
            total = crc32(block, total)
            size -= len(block)
    return total


def is_intact(path: str, size: int, kept: FileStamp | None, hint: str, *, always: bool = False) -> None:
    """Raise if the file is too short or begins otherwise. Of a file of an older version nothing is remembered."""
    found = os.stat(path)
    if found.st_size < size:
        raise IndexDamaged(f"{path} is shorter than was committed", hint)
    if kept is None or (not always and _unchanged(found.st_mtime_ns, kept.changed)):
        return
    if sum_of(path, size) != kept.sum:
        raise IndexDamaged(f"{path} is damaged: it is not what was written", hint)


def _unchanged(found: int, kept: int) -> bool:
    """Archives keep whole seconds."""
    return found == kept or (found % _SECOND == 0 and found // _SECOND == kept // _SECOND)


def mark(folder: str, reason: str) -> None:
    """So that nobody goes on with it; where nothing can be written, nobody is told."""
    with suppress(OSError), open(os.path.join(folder, MARK), "w", encoding="utf8") as file:
        file.write(reason)


def marked(folder: str) -> str:
    """Why it is known to be damaged; empty if it is not."""
    try:
        with open(os.path.join(folder, MARK), encoding="utf8", errors="replace") as file:
            return file.read(1000) or "it is damaged"
    except OSError:
        return ""


def unmark(folder: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(folder, MARK))


def unmarked(folder: str, hint: str) -> None:
    """Raise if it is known to be damaged."""
    reason = marked(folder)
    if reason:
        raise IndexDamaged(reason, hint)
