"""Differences between operating systems: locks, owners, flags of `open`, path separators.

Linux is tested. Without `fcntl`, as on Windows, `msvcrt` locks. Where files have no owners or modes, and folders cannot
be flushed to disk, these functions do nothing.
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
"""Flags for opening a path that may be a FIFO or a device: without blocking, and in binary."""
LOCKED_BYTE = 1 << 30
"""Offset that `msvcrt` locks: locked bytes cannot be read, so it is beyond all content."""
REPLACE_SECONDS = 2.0
"""How long to retry replacing a file that is open for reading, on Windows."""
_RETRY_SECONDS = 0.01


def lock_file(handle: int) -> bool:
    """Take an exclusive lock on an open file if it is free; the system releases it when the process ends."""
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
    """Release the lock; call it before closing the file. With `fcntl`, closing is enough."""
    if fcntl is None:
        with suppress(OSError):
            _at_locked_byte(handle, "LK_UNLCK")


def _at_locked_byte(handle: int, operation: str) -> None:
    import msvcrt

    system: Any = msvcrt  # it has types on Windows only
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
    system.locking(handle, getattr(system, operation), 1)


def is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to this user; true where files have no owner."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_foreign(found: os.stat_result) -> bool:
    """Whether a file belongs to another user, other than root."""
    return hasattr(os, "getuid") and found.st_uid not in (os.getuid(), 0)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Flush the entries of a folder to disk. Windows cannot open a folder, and journals entries itself."""
    if not POSIX:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_path(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """`os.replace` with retries: Windows refuses while another process reads the old file."""
    end = time.monotonic() + REPLACE_SECONDS
    while True:
        try:
            os.replace(source, path)
            return
        except PermissionError:
            if POSIX or time.monotonic() >= end:
                raise
            time.sleep(_RETRY_SECONDS)


def is_running(pid: int) -> bool | None:
    """Whether a process with this id exists; None if unknown: on Windows `kill` would end it."""
    if not POSIX:
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        return None
    return True


def is_within(path: str, folder: str) -> bool:
    """Whether a path is this folder or inside it."""
    return path == folder or path.startswith(trimmed(folder) + os.sep)


def trimmed(path: str) -> str:
    """Path or address without trailing separators."""
    return path.rstrip("/" + os.sep)


def slashed(path: str) -> str:
    """Path with slashes, as in document names on every system."""
    return path.replace(os.sep, "/")
