"""Embedding priorities: chunks that queries retrieved while dense vectors were incomplete.

It is only a hint. A process writes it now and then, not with every query, and skips a write if the state is locked.
Damaged lines match no chunk.
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

MAX_BYTES = 1 << 20
"""Maximum size of the state."""
WRITE_INTERVAL_SECONDS = 5.0
"""Time between two writes of a process: one write costs more than many queries."""


def note(state: State, ids: Sequence[ChunkId]) -> None:
    """Note the chunks that a query retrieved, without waiting or failing."""
    due = _buffer(state).add(ids)
    with suppress(IndexProblem):
        if not _new_lines(state.read() if due else None, due):
            return
        with state.changing(0) as change:
            content = change.read()
            change.write((content or b"") + b"".join(_new_lines(content, due)))


def read(state: State) -> list[ChunkId]:
    """The noted chunks, in order of retrieval."""
    try:
        content = state.read() or b""
    except IndexProblem:
        return []
    return [ChunkId(line) for line in content.decode("utf8", "replace").split()]


def forget(state: State) -> None:
    """Delete the notes, since dense vectors are complete."""
    if state.version() is not None:
        with suppress(IndexProblem), state.changing(0) as change:
            change.write(None)


def _new_lines(content: bytes | None, ids: Iterable[ChunkId]) -> list[bytes]:
    """Lines to add; none if the state is full."""
    if content and len(content) >= MAX_BYTES:
        return []
    existing = set((content or b"").splitlines(keepends=True))
    return [line for identity in ids if (line := f"{identity}\n".encode()) not in existing]


class _Buffer:
    """A buffer of chunks retrieved by this process since the last write."""

    def __init__(self) -> None:
        self._ids: dict[ChunkId, None] = {}
        self._due = 0.0
        self._lock = Lock()

    def add(self, ids: Sequence[ChunkId]) -> Iterable[ChunkId]:
        """Add chunks; returns those to write now, none if the last write was a moment ago."""
        with self._lock:
            self._ids |= dict.fromkeys(ids)
            now = time.monotonic()
            if now < self._due:
                return ()
            self._due = now + WRITE_INTERVAL_SECONDS
            due, self._ids = self._ids, {}
            return due


@lru_cache(maxsize=16)
def _buffer(state: State) -> _Buffer:
    return _Buffer()
