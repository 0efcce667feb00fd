"""Quality of an index for the page and REST: the last evaluation, and what use has taught."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from watersmeet.engine.index.state_names import LAST_EVALUATION
from watersmeet.engine.query.visibility import visible_to
from watersmeet.evaluate import last_report

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine

MAX_OPENED = 20
"""How many of the last opened results are listed."""


def quality(engine: Engine, viewer: Viewer, is_owner: bool) -> dict[str, Any]:
    """`is_owner`: the caller is on this machine, may write and sent no token. Queries and measured figures come from
    all documents, so they are for an owner from whom nothing is hidden; weights are learned from public documents."""
    with engine.snapshot() as snapshot:
        documents = snapshot.statistics(visible_to(viewer)).documents
        sees_all = is_owner and documents == snapshot.statistics().documents
        encoders = sorted(name for name, state in _encoders(engine, viewer).items() if state)
    where = f" --index {shlex.quote(engine.folder)}" if is_owner else ""
    return {
        "documents": documents,
        "shown": sees_all,
        "evaluation": last_report.read(engine.index.state(LAST_EVALUATION)) if sees_all else None,
        "calibration": engine.calibration.state(viewer),
        "keep_opened": bool(engine.settings.section("calibration").keep_opened),
        "opened_results": _opened(engine) if sees_all else [],
        "tuned_encoders": encoders,
        "commands": {
            "evaluate": f"watersmeet eval --from-corpus{where}",
            "judge": f"watersmeet calibrate --judgements FILE{where}",
            "reset": f"watersmeet calibrate --reset{where}",
            "undo_encoder": f"watersmeet tune --encoder --undo{where}",
        },
    }


def _encoders(engine: Engine, viewer: Viewer) -> dict[str, str]:
    """Signals whose encoder of queries was tuned for this index."""
    signals = engine.status(viewer)["signals"]
    return {name: signal.get("query_encoder", "") for name, signal in signals.items()}


def _opened(engine: Engine) -> list[dict[str, str]]:
    """Queries with the documents that were opened after them, the last first."""
    found = engine.calibration.opened_results()[-MAX_OPENED:]
    return [{"query": query, "document": document} for query, document in reversed(found)]
