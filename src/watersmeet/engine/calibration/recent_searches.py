"""Recent searches, to match opened documents with queries; stored only if the index may learn."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexProblem

if TYPE_CHECKING:
    from watersmeet.core.index import State

LOCK_SECONDS = 0.1
MAX_SEARCHES = 50
MAX_AGE_SECONDS = 1800.0
"""How long an opened document can belong to a search."""


def record_search(state: State, query: str, documents: list[str]) -> None:
    """Record the documents shown for a query, and delete searches older than half an hour."""
    _rewrite(state, json.dumps({"at": time.time(), "query": query, "documents": documents}) + "\n")


def query_for(state: State, document: str) -> str | None:
    """The last query of the last half hour whose results had a document."""
    for line in reversed(_recent(_lines(state))):
        one = json.loads(line)
        if document in one["documents"]:
            query: str = one["query"]
            return query
    return None


def prune(state: State, learn: bool) -> None:
    """Delete searches that may no longer be stored: all if the index does not learn, else old ones."""
    if state.version() is None:  # the usual case
        return
    if not learn:
        with suppress(IndexProblem), state.changing(LOCK_SECONDS) as change:
            change.write(None)
    elif len(_recent(lines := _lines(state))) < len(lines):
        _rewrite(state)


def _rewrite(state: State, *more: str) -> None:
    """Rewrite under a lock; skipped if the lock is not free soon, so that no search waits."""
    with suppress(IndexProblem), state.changing(LOCK_SECONDS) as change:
        lines = [*_recent(_lines(state)), *more][-MAX_SEARCHES:]
        change.write("".join(lines).encode() if lines else None)


def _lines(state: State) -> list[str]:
    try:
        return (state.read() or b"").decode().splitlines(keepends=True)
    except (IndexProblem, UnicodeDecodeError):
        return []


def _recent(lines: list[str]) -> list[str]:
    since = time.time() - MAX_AGE_SECONDS
    kept = []
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            if json.loads(line)["at"] > since:
                kept.append(line)
    return kept
