"""What a scan of a root has found, beside what the index knows of its files."""

from __future__ import annotations

from dataclasses import dataclass, field

from watersmeet.core.indexing import Found, Whole
from watersmeet.core.writing import FileState

TICK_NS = 2_000_000_000
"""A file changed less than this before it was read may change again and keep its time stamp."""


def unchanged(state: FileState | None, item: Found) -> bool:
    """Whether an item need not be read, since its stamp proves that it is unchanged."""
    if state is None or not item.stamp or state.stamp != item.stamp:
        return False
    return item.sure or (item.modified is not None and item.modified.timestamp() * 1e9 < state.read_ns - TICK_NS)


@dataclass(slots=True)
class Scan:
    """The result of a scan, by name below the root."""

    found: dict[str, Found] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)
    stamps: dict[str, str] = field(default_factory=dict)  # new stamps of unchanged items
    gone: set[str] = field(default_factory=set)
    whole: Whole | None = None

    def lost(self, name: str) -> bool:
        return name in self.gone or (self.whole is not None and name not in self.found and name not in self.same)

    def leave_out(self, name: str) -> None:
        self.found.pop(name, None)
        self.stamps.pop(name, None)
        self.gone.discard(name)
        self.same.add(name)
