"""What a sync says of itself: while it runs, and at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from watersmeet.core.indexing import Skipped


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` are safe on disk; `doing` says what is being done."""

    doing: str
    done: int
    total: int
    unit: str = "files"


ProgressCallback = Callable[[Progress], None]

MAX_WARNINGS = 100
"""So much of one kind is said of a file; the rest is counted."""


@dataclass(slots=True)
class WarningList:
    """What there is to say of the documents of one file: a file of a million may have a million."""

    path: str
    rest: str  # what the others are, behind their number
    said: list[Skipped] = field(default_factory=list)
    more: int = 0

    def add(self, reason: str) -> None:
        if len(self.said) < MAX_WARNINGS:
            self.said.append(Skipped(self.path, reason))
        else:
            self.more += 1

    def all(self) -> list[Skipped]:
        return [*self.said, Skipped(self.path, f"{self.more:,} {self.rest}")] if self.more else self.said


@dataclass(slots=True)
class SyncReport:
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[Skipped] = field(default_factory=list)
    documents: int = 0
    chunks: int = 0
    embedded: int = 0
    cached: int = 0
    took_ms: float = 0.0

    def to_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("added", "changed", "moved", "removed", "unchanged")}
        lists = {
            name: [{"path": item.path, "reason": item.reason} for item in getattr(self, name)]
            for name in ("skipped", "warnings")
        }
        totals = {name: getattr(self, name) for name in ("documents", "chunks", "embedded")}
        return {**counts, **lists, **totals, "took_ms": round(self.took_ms, 1), "cached": self.cached}
