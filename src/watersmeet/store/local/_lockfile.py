"""Locks whose files go with them: for what is changed seldom and read by many."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from watersmeet.core.errors import IndexBusy
from watersmeet.core.files import make_private, private
from watersmeet.core.locks import writable

_PAUSE = 0.05  # seconds between two attempts


def open_lock(path: str) -> IO[bytes]:
    """The file of a lock, made if need be with the folder that it is in."""
    folder = os.path.dirname(path)
    with writable(folder):
        make_private(folder)
        return open(path, "ab", buffering=0, opener=private)


def acquire(file: IO[bytes], end: float) -> bool:
    """Whether the lock could be had before the monotonic clock says `end`. The system releases it when the file is
    closed or the process ends, however it ends."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        else:
            return True


@contextmanager
def passing_lock(path: str, wait: float) -> Iterator[None]:
    """A lock whose file goes when the block ends; `IndexBusy` if others hold it for longer than `wait` seconds.

    Whoever waited for a file that is gone by then begins again with the one that is there now.
    """
    end = time.monotonic() + wait
    while True:
        with open_lock(path) as file:
            if not acquire(file, end):
                raise IndexBusy(f"another process holds {path}", f"waited {wait:g} s; try again when it is done")
            if not _in_place(file, path):
                continue
            try:
                yield
            finally:
                with suppress(OSError):
                    os.unlink(path)
            return


def _in_place(file: IO[bytes], path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
