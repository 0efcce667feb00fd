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


Tell = Callable[[Progress], None]


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
