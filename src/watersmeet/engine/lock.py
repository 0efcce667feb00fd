"""One writer at a time, across processes; whoever has to wait is told for whom."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from errno import EDQUOT, EFBIG, ENOSPC

from watersmeet.core.errors import DiskFull, IndexBusy, IndexProblem

FILE = "writer.lock"


@contextmanager
def writer_lock(folder: str, wait: float, name: str = FILE) -> Iterator[None]:
    """Hold the index for writing. The system releases it when the process ends, however it ends."""
    path = os.path.join(folder, name)
    end = time.monotonic() + wait
    with writable(folder):
        os.makedirs(folder, exist_ok=True)
        file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed two lines below
    with file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise _busy(path, folder, wait) from None
                time.sleep(0.05)
        file.truncate(0)
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.time(),
            "command": _command(),
        }
        with suppress(OSError):  # a full disk: the lock holds all the same, only unsigned
            file.write(json.dumps(holder).encode())
        try:
            yield
        finally:
            file.truncate(0)


@contextmanager
def writable(folder: str) -> Iterator[None]:
    """The system's refusals to write, said so that the user can act on them."""
    try:
        yield
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT, EFBIG):
            raise DiskFull(f"{folder}: {error.strerror}", "make room and run the same command again") from error
        raise IndexProblem(
            f"{folder} cannot be written: {error.strerror}", "check its permissions, or choose another with --index"
        ) from error


def _command() -> str:
    return " ".join([os.path.basename(sys.argv[0] or "python"), *sys.argv[1:3]])[:80]


def holder_of(path: str) -> str:
    """Who holds the lock in this file, as far as it says."""
    try:
        with open(path, encoding="utf8") as file:
            holder = json.load(file)
        since = datetime.fromtimestamp(holder["since"]).strftime("%H:%M:%S")
        return f"process {holder['pid']} on {holder['host']} (`{holder['command']}`, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _busy(path: str, folder: str, wait: float) -> IndexBusy:
    return IndexBusy(
        f"{holder_of(path)} is writing to {folder}",
        f"waited {wait:g} s; try again when it is done, or raise writer.lock_seconds. Searching works meanwhile",
    )
