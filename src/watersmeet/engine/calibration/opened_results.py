"""Queries with the documents opened after them, stored only if `calibration.keep_opened` is on."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexProblem

if TYPE_CHECKING:
    from watersmeet.core.index import State

LOCK_SECONDS = 0.5
MAX_RESULTS = 5000
"""The oldest beyond these are deleted."""


def add_opened(state: State, query: str, document: str) -> None:
    """Store an opened result; skipped if the lock is not free soon, so that opening does not wait."""
    line = json.dumps({"query": query, "document": document}) + "\n"
    with suppress(IndexProblem), state.changing(LOCK_SECONDS) as change:
        change.write("".join([*_lines(state), line][-MAX_RESULTS:]).encode())


def read_opened(state: State) -> list[tuple[str, str]]:
    """Pairs of query and document, oldest first; lines that cannot be read are left out."""
    found = []
    for line in _lines(state):
        with suppress(ValueError, KeyError, TypeError):
            one = json.loads(line)
            found.append((str(one["query"]), str(one["document"])))
    return found


def _lines(state: State) -> list[str]:
    return (state.read() or b"").decode(errors="replace").splitlines(keepends=True)
