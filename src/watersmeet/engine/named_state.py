"""Where the small named state of an index is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watersmeet.store.local.state import FileState

if TYPE_CHECKING:
    from watersmeet.core.index import State

CALIBRATION = "calibration.json"
RECENT_SEARCHES = "searched.jsonl"
EMBED_FIRST = "embed_first"


def state_of(folder: str, name: str) -> State:
    return FileState(folder, name)
