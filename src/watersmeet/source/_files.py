"""Opening of paths that may not be regular files, without blocking, with errors as messages."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

from watersmeet.core.indexing import Skipped
from watersmeet.core.names import printable
from watersmeet.core.system import READ


def fetch(path: str, limit: int, setting: str) -> bytes | Skipped:
    """Content of a regular file; a FIFO or a device is not read."""
    stream = opened(path, limit, setting)
    if isinstance(stream, Skipped):
        return stream
    parts: list[bytes] = []
    room = limit + 1
    try:
        with stream:
            size = os.fstat(stream.fileno()).st_size + 1
            while part := os.read(stream.fileno(), min(size, room)):
                parts.append(part)
                room -= len(part)
                size = 1 << 16
    except OSError as error:
        return Skipped(printable(path), error_message(error))
    if room == 0:
        return Skipped(printable(path), too_large(limit, setting))
    return b"".join(parts)


def opened(path: str, limit: int, setting: str) -> BinaryIO | Skipped:
    """Open a regular file of at most `limit` bytes."""
    try:
        handle = os.open(path, READ)
        status = os.fstat(handle)
    except OSError as error:
        return Skipped(printable(path), error_message(error))
    refusal = "not a regular file" if not stat.S_ISREG(status.st_mode) else ""
    refusal = refusal or (too_large(limit, setting) if status.st_size > limit else "")
    if refusal:
        os.close(handle)
        return Skipped(printable(path), refusal)
    return os.fdopen(handle, "rb")


def error_message(error: OSError) -> str:
    """Message for a path that cannot be read."""
    if error.errno == errno.ELOOP:
        return "symlink loop"
    return f"cannot be read: {error.strerror or error}"


def too_large(limit: int, setting: str, source: str = "folder") -> str:
    size = f"{limit / 1e6:,g} MB" if limit >= 1e6 else f"{limit:,} bytes"
    return f"larger than {size}; see source.{source}.{setting}"
