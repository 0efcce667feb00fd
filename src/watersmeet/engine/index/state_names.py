"""What the small named state of an index is called."""

from __future__ import annotations

CALIBRATION = "calibration.json"
RECENT_SEARCHES = "searched.jsonl"
EMBED_FIRST = "embed_first"
