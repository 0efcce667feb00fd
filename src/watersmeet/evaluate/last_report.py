"""The last evaluation of an index, stored with it for the page on quality. It is small, and holds queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from watersmeet import __version__

if TYPE_CHECKING:
    from watersmeet.core.index import State
    from watersmeet.evaluate.evaluation import Evaluation

VERSION = 1
LOCK_SECONDS = 5.0
MAX_WEAKEST = 10
"""How many of the queries with the lowest quality are listed."""
_FIGURES = (
    *("dataset", "documents", "queries", "recipe", "mode", "seed", "metrics", "signals", "classes", "intervals"),
    *("latency_ms", "confidence", "expected_nothing", "note", "warnings"),
)


def keep(state: State, evaluation: Evaluation, report: Mapping[str, Any], command: str) -> None:
    """Store the figures of an evaluation and its weakest queries, in place of those before."""
    from watersmeet.evaluate.markdown import confidence_line

    stored = {
        "version": VERSION,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "watersmeet": __version__,
        "command": command,
        **{name: report[name] for name in _FIGURES if name in report},
        "confidence": confidence_line(dict(report)),
        "class_intervals": evaluation.class_intervals(),
        "weakest": evaluation.weakest(MAX_WEAKEST),
    }
    with state.changing(LOCK_SECONDS) as change:
        change.write(json.dumps(stored, ensure_ascii=False).encode())


def read(state: State) -> dict[str, Any] | None:
    """The stored evaluation; None if there is none, or only one that this version cannot read."""
    content = state.read()
    try:
        found = json.loads(content) if content else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("version") == VERSION else None
