"""Names of the small state values of an index."""

from __future__ import annotations

CALIBRATION = "calibration.json"
RECENT_SEARCHES = "searched.jsonl"
LANGUAGES = "languages.json"
OPENED_RESULTS = "opened.jsonl"
EMBED_FIRST = "embed_first"
LAST_EVALUATION = "evaluation.json"
RECORD_VERSIONS = "record_versions.json"
LAST_PULL = "last_pull.json"
REVIEWS = "reviews.json"
