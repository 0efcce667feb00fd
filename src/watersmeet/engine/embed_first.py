"""What to embed first: the chunks that queries retrieved while the deep model had not seen everything.

It is a hint. Whoever cannot write it at once leaves it be, and what is damaged names no chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexProblem
from watersmeet.core.model import ChunkId

if TYPE_CHECKING:
    from watersmeet.core.index import State

MOST_BYTES = 1 << 20
"""It grows to so many bytes."""


def note(state: State, ids: Sequence[ChunkId]) -> None:
    """Remember the chunks that a query retrieved, if they are not known yet. No query waits or fails for it."""
    with suppress(IndexProblem):
        if not _unknown(state.read() or b"", ids):
            return
        with state.changing(0) as change:
            content = change.read() or b""
            fresh = _unknown(content, ids)
            if fresh:
                change.write(content + b"".join(fresh))


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


def _unknown(content: bytes, ids: Sequence[ChunkId]) -> list[bytes]:
    """The lines to add; none if it is full."""
    if len(content) >= MOST_BYTES:
        return []
    lines = [f"{identity}\n".encode() for identity in ids]
    return [line for line in lines if line not in content]
