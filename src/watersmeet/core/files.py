"""Files and folders of ours: written whole or not at all, and for their owner's eyes only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from watersmeet.core.errors import IndexProblem
from watersmeet.core.system import is_ours, replace_path

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def replace_file(path: str, content: bytes, mode: int = FILE_MODE) -> None:
    """The new content in place of the old; whoever reads meanwhile sees the one or the other.

    No two writers share what is not in place yet.
    """
    folder, name = os.path.split(path)
    made = os.path.join(folder, f".{name}-{os.urandom(6).hex()}")
    try:
        with open(made, "xb", opener=private) as file:
            file.write(content)
        if mode != FILE_MODE:
            os.chmod(made, mode)
        replace_path(made, path)
    finally:
        with suppress(OSError):  # it is in place by now, unless something went wrong
            os.unlink(made)


def private(path: str, flags: int) -> int:
    """For `open(..., opener=private)`: a file that is made is its owner's alone, whatever the umask."""
    return os.open(path, flags, FILE_MODE)


def make_private(folder: str) -> None:
    """A folder that is its owner's alone, and so are those above it that had to be made; one that is there stays."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(os.path.abspath(folder))
    make_private(above)
    os.makedirs(folder, FOLDER_MODE, exist_ok=True)


def tighten(folder: str, ours: Callable[[str], bool] = lambda name: True) -> None:
    """Take from others what they may do with a folder, if all in it is ours, and with what in it is ours.

    What belongs to another user, and what a link leads to, is left alone.
    """
    with suppress(OSError), os.scandir(folder) as listing:
        entries = list(listing)
        if all(ours(entry.name) for entry in entries):
            _tighten(folder, os.lstat(folder), FOLDER_MODE)
        for entry in entries:
            if not ours(entry.name) or entry.is_symlink():
                continue
            if entry.is_dir():
                tighten(entry.path)
            else:
                _tighten(entry.path, entry.stat(), FILE_MODE)


def _tighten(path: str, found: os.stat_result, mode: int) -> None:
    if is_ours(found) and stat.S_IMODE(found.st_mode) & ~mode:
        with suppress(OSError):  # it is gone by now, or its file system knows no modes
            os.chmod(path, stat.S_IMODE(found.st_mode) & mode)


def can_write(path: str) -> bool:
    """Whether a file or folder can be written by us: not on a disk for reading only, nor without permission."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def refuse_read_only(folder: str, why: str = "no permission to write") -> IndexProblem:
    return IndexProblem(
        f"{folder} is read-only: {why}", "search works; to change it, copy it to where you may write, or use --index"
    )
