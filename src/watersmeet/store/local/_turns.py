"""The writer lock of a local index: writers take turns, and the current one can see that another waits.

Two files are locked. `writer.lock` is the right to write. `writer.queue` is locked by the next writer, and all others
wait for that one: so the current writer checks one file to see whether anyone waits, and cannot overtake after it has
released the lock.
"""

from __future__ import annotations

import glob
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from watersmeet.core.files import tighten
from watersmeet.core.locks import FileLock

FILE, QUEUE = "writer.lock", "writer.queue"
ROOT = "root-{}.lock"
"""Lock file of the process that syncs the root with this number."""
STOPPED_SECONDS = 2.0
"""Seconds after which a next writer that does not take the free lock counts as stopped."""
INDEX_FILE_PREFIXES = (
    "catalogue.db",
    "text-",
    "vectors-",
    "concept_vocabulary",
    "calibration.",
    "searched.jsonl",
    "audit.jsonl",
    "languages.json",
    "embed_first",
    "private_vocabulary",
    "asked",
    "deepen-",
    "root-",
    "folder.lock",
    "watch.",
    FILE,
    QUEUE,
)
"""How names of index files and folders begin; with a dot before them while they are being written."""


class WriterLock:
    """The writer lock: held until it is released or its process ends."""

    def __init__(self, folder: str) -> None:
        self._lock, self._queue = FileLock(folder, FILE), FileLock(folder, QUEUE)
        self._sign, self._since = -1, 0.0

    def take(self, wait: float) -> None:
        """Takes the lock. `IndexBusy` after `wait` seconds without progress: no commit and no change of holder."""
        self._lock.wait_for(self._is_next, wait)
        try:
            if not self._lock.is_held:
                self._lock.take(wait)
        finally:
            self._queue.release()
        if not self._lock.in_place():  # the index was replaced while this waited
            self._lock.release()
            return self.take(wait)
        self._lock.write_holder()
        return None

    def _is_next(self) -> bool:
        """Whether this writer is next in the queue. A next writer that is stopped, and does not take the free lock, is
        overtaken."""
        if self._queue.attempt():
            return True
        if self._lock.progress_stamp() != self._sign:
            self._sign, self._since = self._lock.progress_stamp(), time.monotonic()
        return time.monotonic() - self._since > STOPPED_SECONDS and self._lock.attempt()

    def is_wanted(self) -> bool:
        """Whether another writer waits for the lock."""
        free = self._queue.attempt()
        self._queue.release()
        return not free

    def renew(self) -> None:
        self._lock.renew()

    def release(self) -> None:
        self._lock.release()


@contextmanager
def writer_lock(folder: str, wait: float) -> Iterator[WriterLock]:
    """Holds the writer lock of an index."""
    lock = WriterLock(folder)
    lock.take(wait)
    try:
        yield lock
    finally:
        lock.release()


def root_lock(folder: str, root: int) -> FileLock:
    return FileLock(folder, ROOT.format(root))


def busy_root(folder: str) -> FileLock | None:
    """The lock of a root that another process is syncing, if any."""
    for path in glob.glob(os.path.join(glob.escape(folder), ROOT.format("*"))):
        lock = FileLock(folder, os.path.basename(path))
        if not lock.attempt():
            return lock
        lock.release()
    return None


def await_readers(folder: str, lock: WriterLock, wait: float) -> None:
    """Waits, with the lock released, until no other process syncs a root: it would go on with what it read before the
    index was emptied or replaced."""
    while busy := busy_root(folder):
        lock.release()
        busy.take(wait)
        busy.release()
        lock.take(wait)


def tighten_index(folder: str) -> None:
    """Makes the files of an index readable by its owner only. With other files in it, the folder's mode stays."""
    tighten(folder, is_index_file)


def is_index_file(name: str) -> bool:
    """Whether a file or folder of this name, in the folder of an index, is part of it."""
    return name in (".gitignore", "dataset.json") or name.removeprefix(".").startswith(INDEX_FILE_PREFIXES)


def delete_index(folder: str, catalogue: str, wait: float) -> None:
    """Delete the files of an index, and its folder if nothing else is in it. `IndexBusy` while somebody writes.

    The catalogue goes first: without it, the rest is no index."""
    with writer_lock(folder, wait):
        names = [name for name in os.listdir(folder) if is_index_file(name) and name not in (FILE, QUEUE)]
        for name in sorted(names, key=lambda name: (not name.startswith(catalogue), name)):
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    for name in (FILE, QUEUE):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    with suppress(OSError):  # something else is in it
        os.rmdir(folder)
