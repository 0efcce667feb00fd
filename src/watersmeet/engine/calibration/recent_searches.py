"""What was searched lately, so that an opened document can be understood: kept only while the index may learn."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexProblem

if TYPE_CHECKING:
    from watersmeet.core.index import State

SOON = 0.1
LATELY = 50
"""How many searches are remembered, and for how many seconds an opened document can belong to one."""
SECONDS = 1800.0


def record_search(state: State, query: str, documents: list[str]) -> None:
    """What was shown for a query. Whatever is older than half an hour goes."""
    _rewrite(state, json.dumps({"at": time.time(), "query": query, "documents": documents}) + "\n")


def query_for(state: State, document: str) -> str | None:
    """The last query of the last half hour that showed a document."""
    for line in reversed(_recent(_lines(state))):
        one = json.loads(line)
        if document in one["documents"]:
            query: str = one["query"]
            return query
    return None


def prune(state: State, learn: bool) -> None:
    """Drop what may not be kept any longer: all of it where the index does not learn, else what is too old."""
    if state.version() is None:  # nearly always
        return
    if not learn:
        with suppress(IndexProblem), state.changing(SOON) as change:
            change.write(None)
    elif len(_recent(lines := _lines(state))) < len(lines):
        _rewrite(state)


def _rewrite(state: State, *more: str) -> None:
    """One process at a time; whoever cannot soon leaves it be: no search waits for it."""
    with suppress(IndexProblem), state.changing(SOON) as change:
        lines = [*_recent(_lines(state)), *more][-LATELY:]
        change.write("".join(lines).encode() if lines else None)


def _lines(state: State) -> list[str]:
    try:
        return (state.read() or b"").decode().splitlines(keepends=True)
    except (IndexProblem, UnicodeDecodeError):
        return []


def _recent(lines: list[str]) -> list[str]:
    since = time.time() - SECONDS
    kept = []
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            if json.loads(line)["at"] > since:
                kept.append(line)
    return kept
