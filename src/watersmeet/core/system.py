"""What operating systems do differently, in one place: locks, owners, flags of `open`, separators of paths.

Linux is tested. Where `fcntl` is missing, as on Windows, `msvcrt` locks; where files have no owners or modes, and
folders cannot be flushed to the disk, nothing is done.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from errno import EACCES, EAGAIN, EDEADLK
from typing import Any

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

POSIX = fcntl is not None
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""To open for reading what may be a FIFO or a device: without waiting for it, and byte by byte."""
LOCKED_BYTE = 1 << 30
"""Where `msvcrt` locks: nobody can read what it has locked, so it is a byte behind all that is written."""
REPLACE_SECONDS = 2.0
"""How long to wait for readers of a file that is to be replaced, where they are in the way."""
_PAUSE = 0.01


def lock_file(handle: int) -> bool:
    """Lock an open file for this one alone, if nobody else has; the system unlocks it when the process ends."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    try:
        _at_locked_byte(handle, "LK_NBLCK")
    except OSError as error:
        if error.errno in (EACCES, EAGAIN, EDEADLK):
            return False
        raise
    return True


def unlock_file(handle: int) -> None:
    """To be called before the file is closed. With `fcntl`, closing it is enough."""
    if fcntl is None:
        with suppress(OSError):
            _at_locked_byte(handle, "LK_UNLCK")


def _at_locked_byte(handle: int, operation: str) -> None:
    import msvcrt

    system: Any = msvcrt  # whose types are known on Windows only
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
    system.locking(handle, getattr(system, operation), 1)


def is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to this user. Where files have no owner's number, it is taken to."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_foreign(found: os.stat_result) -> bool:
    """Whether a file belongs to another user who is not the system's."""
    return hasattr(os, "getuid") and found.st_uid not in (os.getuid(), 0)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make the names in a folder durable. Windows cannot open one, and writes names to its journal by itself."""
    if not POSIX:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_path(made: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """`os.replace`. Windows refuses while somebody reads the old file: then wait for them a moment."""
    end = time.monotonic() + REPLACE_SECONDS
    while True:
        try:
            os.replace(made, path)
            return
        except PermissionError:
            if POSIX or time.monotonic() >= end:
                raise
            time.sleep(_PAUSE)


def is_running(pid: int) -> bool | None:
    """Whether there is a process of this number; None where that cannot be asked: on Windows `kill` would end it."""
    if not POSIX:
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return None
    return True


def is_within(path: str, folder: str) -> bool:
    """Whether a path is this folder, or lies in it."""
    return path == folder or path.startswith(trimmed(folder) + os.sep)


def trimmed(path: str) -> str:
    """Without the separators at its end, also those of an address."""
    return path.rstrip("/" + os.sep)


def slashed(path: str) -> str:
    """With slashes, as names of documents have them on every system."""
    return path.replace(os.sep, "/")
