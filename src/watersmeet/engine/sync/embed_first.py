"""What to embed first: the chunks that queries retrieved while the deep model had not seen everything.

It is a hint. A process writes it now and then, not with every query; whoever cannot write it at once leaves it be, and
what is damaged names no chunk.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexProblem
from watersmeet.core.model import ChunkId

if TYPE_CHECKING:
    from watersmeet.core.index import State

MOST_BYTES = 1 << 20
"""It grows to so many bytes."""
PAUSE = 5.0
"""Seconds between two writes of a process: to replace the whole costs more than many queries."""


def note(state: State, ids: Sequence[ChunkId]) -> None:
    """Remember the chunks that a query retrieved. No query waits or fails for it."""
    due = _noted(state).add(ids)
    with suppress(IndexProblem):
        if not _unknown(state.read() if due else None, due):
            return
        with state.changing(0) as change:
            content = change.read()
            change.write((content or b"") + b"".join(_unknown(content, due)))


def read(state: State) -> list[ChunkId]:
    """The chunks, in the order in which they were retrieved."""
    try:
        content = state.read() or b""
    except IndexProblem:
        return []
    return [ChunkId(line) for line in content.decode("utf8", "replace").split()]


def forget(state: State) -> None:
    """The deep model has seen everything."""
    if state.version() is not None:
        with suppress(IndexProblem), state.changing(0) as change:
            change.write(None)


def _unknown(content: bytes | None, ids: Iterable[ChunkId]) -> list[bytes]:
    """The lines to add; none if it is full."""
    if content and len(content) >= MOST_BYTES:
        return []
    known = set((content or b"").splitlines(keepends=True))
    return [line for identity in ids if (line := f"{identity}\n".encode()) not in known]


class _Noted:
    """What the queries of this process retrieved since it was last written."""

    def __init__(self) -> None:
        self._ids: dict[ChunkId, None] = {}
        self._due = 0.0
        self._lock = Lock()

    def add(self, ids: Sequence[ChunkId]) -> Iterable[ChunkId]:
        """All that is to be written now; nothing if that was done a moment ago."""
        with self._lock:
            self._ids |= dict.fromkeys(ids)
            now = time.monotonic()
            if now < self._due:
                return ()
            self._due = now + PAUSE
            taken, self._ids = self._ids, {}
            return taken


@lru_cache(maxsize=16)
def _noted(state: State) -> _Noted:
    return _Noted()
