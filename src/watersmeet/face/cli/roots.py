"""Roots of an index as `status` and `list --roots` show them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from watersmeet.face.cli.common import table
from watersmeet.face.cli.streams import one_line

COLUMNS = ("root", "kind", "prefix", "collection", "documents", "read", "problem")


def source_line(source: dict[str, Any]) -> str:
    """A root with its documents, its age and its last problem, in one line."""
    parts = [_counted(source["documents"], "document"), f"read {_read(source)}"]
    parts += [f"problem: {source['problem']}"] if source["problem"] else []
    return one_line(f"{source['root']} ({', '.join(parts)})")


def print_sources(sources: list[dict[str, Any]], form: str) -> None:
    """A table of the roots."""
    rows = [{**source, "read": _read(source), "problem": source["problem"] or ""} for source in sources]
    table(list(COLUMNS), [[str(row[name]) for name in COLUMNS] for row in rows], form)


def _read(source: dict[str, Any]) -> str:
    return ago(source["synced"]) + (", overdue" if source["overdue"] else "")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ago(moment: str | None) -> str:
    """The age of a moment, as people say it."""
    if moment is None:
        return "never as a whole"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{_counted(int(seconds // size), unit)} ago"
    return "just now"
