"""What was searched lately, so that an opened document can be understood: kept only while the index may learn."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from watersmeet.core.errors import IndexProblem

SEARCHED = "searched.jsonl"
LOCK = "calibration.lock"
SOON = 0.1
LATELY = 50
"""How many searches are remembered, and for how many seconds an opened document can belong to one."""
SECONDS = 1800.0


def note_search(folder: str, query: str, documents: list[str]) -> None:
    """What was shown for a query. Whatever is older than half an hour goes."""
    _rewrite(folder, json.dumps({"at": time.time(), "query": query, "documents": documents}) + "\n")


def searched_for(folder: str, document: str) -> str | None:
    """The last query of the last half hour that showed a document."""
    for line in reversed(_recent(_lines(os.path.join(folder, SEARCHED)))):
        one = json.loads(line)
        if document in one["documents"]:
            query: str = one["query"]
            return query
    return None


def tidy(folder: str, learn: bool) -> None:
    """Drop what may not be kept any longer: all of it where the index does not learn, else what is too old."""
    path = os.path.join(folder, SEARCHED)
    if not learn:
        with suppress(OSError):  # nearly always there is none
            os.unlink(path)
    elif len(_recent(lines := _lines(path))) < len(lines):
        _rewrite(folder)


def _rewrite(folder: str, *more: str) -> None:
    """One process at a time; whoever cannot soon leaves it be: no search waits for it."""
    from watersmeet.core.files import replace_file
    from watersmeet.core.locks import locked

    path = os.path.join(folder, SEARCHED)
    with suppress(OSError, IndexProblem), locked(folder, SOON, LOCK):
        lines = [*_recent(_lines(path)), *more][-LATELY:]
        if lines:
            replace_file(path, "".join(lines).encode())
        else:
            os.unlink(path)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf8") as file:
            return file.readlines()
    except (OSError, UnicodeDecodeError):
        return []


def _recent(lines: list[str]) -> list[str]:
    since = time.time() - SECONDS
    kept = []
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            if json.loads(line)["at"] > since:
                kept.append(line)
    return kept
