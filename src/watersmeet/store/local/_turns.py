"""Writers of one local index take turns: whoever waits is seen by the one that writes, and goes next.

Two files are locked. `writer.lock` is the right to write. `writer.queue` is locked by whoever is next, and all others
wait for that one: so a writer needs one look to know that somebody waits, and cannot overtake when it has let go.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from watersmeet.core.files import tighten
from watersmeet.core.locks import FileLock

FILE, QUEUE = "writer.lock", "writer.queue"
ROOT = "root-{}.lock"
"""Locked by whoever brings the root of this number up to date."""
STOPPED = 2.0
"""Seconds after which somebody who is next and does nothing is taken for stopped."""
OURS = (
    "catalogue.db",
    "text-",
    "vectors-",
    "concept_vocabulary",
    "calibration.",
    "searched.jsonl",
    "asked",
    "deepen-",
    "root-",
    FILE,
    QUEUE,
)
"""How the files and folders of an index begin; also with a dot before it, while they are being written."""


class WriterLock:
    """The local kind of lease: it lasts until it is released, or its process ends."""

    def __init__(self, folder: str) -> None:
        self._lock, self._queue = FileLock(folder, FILE), FileLock(folder, QUEUE)
        self._sign, self._since = -1, 0.0

    def take(self, wait: float) -> None:
        """`IndexBusy` after so many seconds in which nobody got on: neither a commit nor another's turn."""
        self._lock.wait_for(self._is_next, wait)
        try:
            if not self._lock.is_held:
                self._lock.take(wait)
        finally:
            self._queue.release()
        self._lock.write_holder()

    def _is_next(self) -> bool:
        """Whether all others wait for this one. If whoever is next was stopped, and does not take what is free, it is
        overtaken."""
        if self._queue.attempt():
            return True
        if self._lock.progress_stamp() != self._sign:
            self._sign, self._since = self._lock.progress_stamp(), time.monotonic()
        return time.monotonic() - self._since > STOPPED and self._lock.attempt()

    def is_wanted(self) -> bool:
        """Whether somebody waits for it."""
        free = self._queue.attempt()
        self._queue.release()
        return not free

    def renew(self) -> None:
        self._lock.renew()

    def release(self) -> None:
        self._lock.release()


@contextmanager
def writer_lock(folder: str, wait: float) -> Iterator[WriterLock]:
    """Hold the index for writing."""
    lock = WriterLock(folder)
    lock.take(wait)
    try:
        yield lock
    finally:
        lock.release()


def root_lock(folder: str, root: int) -> FileLock:
    return FileLock(folder, ROOT.format(root))


def busy_root(folder: str) -> FileLock | None:
    """The lock of a root that somebody is reading just now."""
    for path in glob.glob(os.path.join(glob.escape(folder), ROOT.format("*"))):
        lock = FileLock(folder, os.path.basename(path))
        if not lock.attempt():
            return lock
        lock.release()
    return None


def tighten_index(folder: str) -> None:
    """Nobody else reads an index. What else lies in its folder is left alone, and then so is the folder."""
    tighten(folder, lambda name: name in (".gitignore", "dataset.json") or name.removeprefix(".").startswith(OURS))
