"""Readings of roots: when each was last read as a whole, and what went wrong since. They are facts of the index."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from watersmeet.common.dates import age
from watersmeet.core.errors import ConfigError
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.writing import Root
from watersmeet.engine.settings.settings import Settings

QUICK_SECONDS = 60.0
"""The reading of a folder, which may be synced every few seconds, is recorded at most this often."""
MAX_PROBLEM = 500
"""Characters of a problem that are kept: its text may come from a server."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The last reading of a root."""

    at: float | None = None  # when it was last read without a failure, in seconds since the epoch; None: never
    problem: str = ""  # what has gone wrong since then
    failed: bool = False  # whether the last attempt was no reading because of it

    @property
    def synced(self) -> str | None:
        return None if self.at is None else datetime.fromtimestamp(self.at, UTC).isoformat(timespec="seconds")

    def is_fresh(self, seconds: float) -> bool:
        """Whether it is younger than so many seconds, and complete. A time in the future is a clock that was wrong."""
        return self.at is not None and 0 <= time.time() - self.at < seconds

    def after(self, problem: str, failed: bool) -> Reading:
        """The reading after another attempt. `failed`: it does not count as a reading."""
        kept = replace(self, problem=problem[:MAX_PROBLEM], failed=failed)
        return kept if failed else replace(kept, at=time.time())


def fact_name(root: Root) -> str:
    return f"reading.{root.id}"


def reading_of(facts: Mapping[str, str], root: Root) -> Reading:
    """The stored reading of a root; an empty one in an index of an earlier version."""
    try:
        stored: Any = json.loads(facts.get(fact_name(root)) or "{}")
        return Reading(stored.get("at"), str(stored.get("problem", "")), bool(stored.get("failed")))
    except (ValueError, AttributeError):
        return Reading()


def to_fact(root: Root, reading: Reading) -> dict[str, str]:
    return {fact_name(root): json.dumps({"at": reading.at, "problem": reading.problem, "failed": reading.failed})}


def refresh_seconds(settings: Settings) -> float:
    """Age from which a network root is read again by a sync that does not name it."""
    text = str(settings.section("index").refresh).strip()
    if text in ("0", "always"):
        return 0.0
    found = age(text)
    if found is None:
        raise ConfigError(f"index.refresh cannot be {text!r}", "write an age such as 12h, 1d or 2w, or always")
    return found.total_seconds()
