"""An index in a folder, as the engine knows it: readers that are kept open, small state, a place to write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, ClassVar

from watersmeet.core.index import Check
from watersmeet.store.local.snapshot import LocalSnapshot
from watersmeet.store.local.state import FileState

IDLE = 60.0
"""Seconds that a reader stays open when nobody needs it."""


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """The `Index` port over a folder: SQLite decides what is live; words and vectors are files beside it."""

    schemes: ClassVar[tuple[str, ...]] = ()
    """The addresses that it takes: none, for it takes folders."""

    folder: str
    find: Callable[[str], Callable[..., Any]]
    _idle: list[LocalSnapshot] = field(default_factory=list, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    @property
    def place(self) -> str:
        return self.folder

    @property
    def remote(self) -> bool:
        return False

    @contextmanager
    def snapshot(self) -> Iterator[LocalSnapshot]:
        with self._lock:
            reader = self._idle.pop() if self._idle else None
        if reader is not None and not reader.current():
            reader.close()
            reader = None
        reader = reader or LocalSnapshot(self.folder, self.find)
        try:
            with reader.moment():
                yield reader
        finally:
            reader.last_used = now = time.monotonic()
            with self._lock:
                self._idle.append(reader)
                old = self._idle.pop(0) if self._idle[0].last_used < now - IDLE else None
            if old is not None:  # the last used is used next: after many at once, most would keep an old state for ever
                old.close()

    def state(self, name: str) -> FileState:
        return FileState(self.folder, name)

    def check(self) -> list[Check]:
        from watersmeet.store.local.health import check_files

        return check_files(self.folder, self.find)

    def size_bytes(self) -> int:
        from watersmeet.store.local.health import size_of

        return size_of(self.folder)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
