"""Integrity checks of store files: size and time stamp at each opening, the checksum if these differ.

A file with the recorded size and modification time counts as sound; one that was copied, restored or overwritten has
another time, and its checksum is computed. `doctor` checks every file, and marks the folder of a damaged store: readers
then refuse it, and the next `sync` rebuilds it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from watersmeet.core.errors import IndexDamaged

MARK = "damaged"
"""Name of the file that marks a store folder as damaged; its content is the reason."""
_BLOCK = 1 << 20
_SECOND = 1_000_000_000


class FileStamp(NamedTuple):
    """The checksum of a file's committed bytes, and its modification time in ns."""

    sum: int
    changed: int


def sum_of(path: str, size: int, start: int = 0) -> int:
    """The checksum of a file's first `size` bytes."""
    total = start
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(_BLOCK, size))):
            total = crc32(block, total)
            size -= len(block)
    return total


def check_intact(path: str, size: int, stamp: FileStamp | None, hint: str, *, always: bool = False) -> None:
    """Raises if a file is too short or its checksum differs. Files of older versions have no stamp."""
    found = os.stat(path)
    if found.st_size < size:
        raise IndexDamaged(f"{path} is shorter than was committed", hint)
    if stamp is None or (not always and _unchanged(found.st_mtime_ns, stamp.changed)):
        return
    if sum_of(path, size) != stamp.sum:
        raise IndexDamaged(f"{path} is damaged: it is not what was written", hint)


def _unchanged(found: int, stamped: int) -> bool:
    """Whether two time stamps are equal; archives keep whole seconds."""
    return found == stamped or (found % _SECOND == 0 and found // _SECOND == stamped // _SECOND)


def mark(folder: str, reason: str) -> None:
    """Marks a folder as damaged, so that readers refuse it; does nothing where it cannot be written."""
    with suppress(OSError), open(os.path.join(folder, MARK), "w", encoding="utf8") as file:
        file.write(reason)


def marked(folder: str) -> str:
    """The reason a folder is marked as damaged; empty if it is not."""
    try:
        with open(os.path.join(folder, MARK), encoding="utf8", errors="replace") as file:
            return file.read(1000) or "it is damaged"
    except OSError:
        return ""


def unmark(folder: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(folder, MARK))


def check_unmarked(folder: str, hint: str) -> None:
    """Raises if a folder is marked as damaged."""
    reason = marked(folder)
    if reason:
        raise IndexDamaged(reason, hint)
