"""Opening what may not be a file at all, without waiting for it, and saying in words what went wrong."""

from __future__ import annotations

import errno
import os
import stat

from watersmeet.core.indexing import Skipped
from watersmeet.core.names import printable


def fetch(path: str, limit: int, setting: str) -> bytes | Skipped:
    """The content of a regular file; a FIFO or a device is neither waited for nor read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return Skipped(printable(path), "not a regular file")
            if status.st_size > limit:
                return Skipped(printable(path), too_large(limit, setting))
            parts: list[bytes] = []
            room = limit + 1
            ask = status.st_size + 1
            while part := os.read(handle, min(ask, room)):
                parts.append(part)
                room -= len(part)
                ask = 1 << 16
        finally:
            os.close(handle)
    except OSError as error:
        return Skipped(printable(path), in_words(error))
    if room == 0:
        return Skipped(printable(path), too_large(limit, setting))
    return b"".join(parts)


def in_words(error: OSError) -> str:
    """Why a path cannot be read."""
    if error.errno == errno.ELOOP:
        return "symlink loop"
    return f"cannot be read: {error.strerror or error}"


def too_large(limit: int, setting: str) -> str:
    size = f"{limit / 1e6:,g} MB" if limit >= 1e6 else f"{limit:,} bytes"
    return f"larger than {size}; see source.folder.{setting}"
