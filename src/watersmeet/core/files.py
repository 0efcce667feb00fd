"""Private files and folders: written atomically, and readable by their owner only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from watersmeet.core.errors import IndexProblem
from watersmeet.core.system import is_ours, replace_path

FILE_MODE, FOLDER_MODE = 0o600, 0o700
MAX_TREE_FILES = 10_000


def replace_file(path: str, content: bytes, mode: int = FILE_MODE) -> None:
    """Atomic replacement of a file: a reader sees the old content or the new, never a part.

    Each writer has a temporary file of its own.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}-{os.urandom(6).hex()}")
    try:
        with open(temporary, "xb", opener=private) as file:
            file.write(content)
        if mode != FILE_MODE:
            os.chmod(temporary, mode)
        replace_path(temporary, path)
    finally:
        with suppress(OSError):  # already renamed, unless something went wrong
            os.unlink(temporary)


def private(path: str, flags: int) -> int:
    """Opener for `open(..., opener=private)`: a new file is private to its owner, whatever the umask."""
    return os.open(path, flags, FILE_MODE)


def make_private(folder: str) -> None:
    """Create a private folder and its missing parents; an existing folder is left unchanged."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(os.path.abspath(folder))
    make_private(above)
    os.makedirs(folder, FOLDER_MODE, exist_ok=True)


def tighten(folder: str, ours: Callable[[str], bool] = lambda name: True) -> None:
    """Remove other users' permissions on our files in a folder, and on the folder itself if all in it is ours.

    Files of other users and targets of symlinks are left unchanged.
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


def _tighten(path: str, status: os.stat_result, mode: int) -> None:
    if is_ours(status) and stat.S_IMODE(status.st_mode) & ~mode:
        with suppress(OSError):  # already deleted, or a file system without modes
            os.chmod(path, stat.S_IMODE(status.st_mode) & mode)


def can_write(path: str) -> bool:
    """Whether this process may write a file or folder: false on a read-only disk or without permission."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def refuse_read_only(folder: str, why: str = "no permission to write") -> IndexProblem:
    return IndexProblem(
        f"{folder} is read-only: {why}",
        "search works; to change it, copy it to a folder that you may write, or use --index",
    )


def check_plain_tree(folder: str) -> None:
    """Raise unless there are only folders and regular files below a folder of a stranger: a link could lead anywhere,
    and reading a pipe never ends."""
    count, waiting = 0, [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                count += 1
                mode = entry.stat(follow_symlinks=False).st_mode
                if count > MAX_TREE_FILES:
                    raise IndexProblem(f"{folder} has more than {MAX_TREE_FILES} files", "get another copy")
                if stat.S_ISDIR(mode):
                    waiting.append(entry.path)
                elif not stat.S_ISREG(mode):
                    raise IndexProblem(f"{entry.path} is a link or a special file", "remove it, or get another copy")
