"""File locks across processes and threads: the system releases them when a process ends, however it ends."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from errno import EACCES, EDQUOT, EFBIG, ENOSPC, EPERM, EROFS
from typing import IO

from watersmeet.core.errors import DiskFull, IndexBusy, IndexProblem
from watersmeet.core.files import make_private, private, refuse_read_only
from watersmeet.core.system import lock_file, unlock_file

RETRY_SECONDS = 0.02
"""Pause between two attempts to take a lock."""


class FileLock:
    """A lock on a file, which names its holder. `release` frees it."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, name)
        self._file: IO[bytes] | None = None

    @property
    def is_held(self) -> bool:
        return self._file is not None

    def attempt(self) -> bool:
        """Take the lock if it is free."""
        with writable(self.folder):
            make_private(self.folder)
            file = open(self.path, "ab", buffering=0, opener=private)  # noqa: SIM115 - `release` closes it
            with ExitStack() as undo:
                undo.callback(file.close)
                if not lock_file(file.fileno()):
                    return False
                undo.pop_all()
        self._file = file
        return True

    def take(self, wait: float) -> None:
        """Take the lock, waiting as long as its holder makes progress."""
        self.wait_for(self.attempt, wait)

    def wait_for(self, attempt: Callable[[], bool], wait: float) -> None:
        """Retry `attempt` until it succeeds; `IndexBusy` after `wait` seconds without progress of the holder."""
        stamp, end = self.progress_stamp(), time.monotonic() + wait
        while not attempt():
            if self.progress_stamp() != stamp:
                stamp, end = self.progress_stamp(), time.monotonic() + wait
            if time.monotonic() >= end:
                raise IndexBusy(
                    f"{holder_of(self.path)} is writing to {self.folder}",
                    f"waited {wait:g} s; try again when it is done, or raise writer.lock_seconds."
                    " Searching works meanwhile",
                )
            time.sleep(RETRY_SECONDS)

    def progress_stamp(self) -> int:
        """Modification time of the lock file: changes with the holder, and when the holder renews the lock."""
        try:
            return os.stat(self.path).st_mtime_ns
        except OSError:
            return 0

    def write_holder(self) -> None:
        """Write this process into the file as the holder."""
        if self._file is not None:
            self._file.truncate(0)
            with suppress(OSError):  # a full disk: the lock still holds, without a name
                self._file.write(json.dumps(_holder()).encode())

    def renew(self) -> None:
        """Show progress to waiting processes."""
        if self._file is not None:
            os.utime(self._file.fileno() if os.utime in os.supports_fd else self.path)

    def in_place(self) -> bool:
        """Whether the locked file still exists under its name: the previous holder may have removed it."""
        try:
            return self._file is not None and os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path))
        except FileNotFoundError:
            return False

    def remove(self) -> None:
        """Release the lock and delete its file. Windows cannot delete an open file: there it stays, empty."""
        if self._file is not None:
            with suppress(OSError):
                os.unlink(self.path)
        self.release()

    def release(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with file:
                file.truncate(0)
                unlock_file(file.fileno())


@contextmanager
def locked(folder: str, wait: float, name: str) -> Iterator[None]:
    """Context manager that holds the lock on a file of the folder."""
    lock = FileLock(folder, name)
    lock.take(wait)
    try:
        lock.write_holder()
        yield
    finally:
        lock.release()


@contextmanager
def passing_lock(path: str, wait: float) -> Iterator[None]:
    """A lock whose file is deleted when the block ends; `IndexBusy` if others hold it for longer than `wait` seconds.

    A process that waited for a file which was deleted meanwhile tries again with the new file.
    """
    lock, end = FileLock(*os.path.split(path)), time.monotonic() + wait
    while not (lock.attempt() and lock.in_place()):
        if lock.is_held:
            lock.release()
            continue
        if time.monotonic() >= end:
            raise IndexBusy(f"another process holds {path}", f"waited {wait:g} s; try again when it is done")
        time.sleep(RETRY_SECONDS)
    try:
        yield
    finally:
        lock.remove()


@contextmanager
def writable(folder: str) -> Iterator[None]:
    """Turn write errors of the system into errors that the user can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT, EFBIG):
            raise DiskFull(f"{folder}: {error.strerror}", "make room and run the same command again") from error
        if error.errno in (EROFS, EACCES, EPERM):
            raise refuse_read_only(folder, error.strerror or str(error)) from error
        raise IndexProblem(
            f"{folder} cannot be written: {error.strerror}", "check its permissions, or choose another with --index"
        ) from error


def holder_of(path: str) -> str:
    """Description of the holder of a lock file, if it names one."""
    try:
        with open(path, encoding="utf8") as file:
            holder = json.load(file)
        since = datetime.fromtimestamp(holder["since"]).strftime("%H:%M:%S")
        return f"process {holder['pid']} on {holder['host']} (`{holder['command']}`, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _holder() -> dict[str, object]:
    import socket  # only writers need it

    command = " ".join([os.path.basename(sys.argv[0] or "python"), *sys.argv[1:3]])[:80]
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time(), "command": command}
