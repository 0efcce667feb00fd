"""When was a document last changed? What it says itself, else what its source says. And when was it begun?

`date:` and `created:` in a document, and a date in a file's name, say when it was begun, and nothing of its changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.indexing import CarriedDates, Content, Dating, Found

SOURCES = ("matter", "name", "git", "mtime")
DEFAULT = ("matter", "git", "mtime")
VERSION = 2
"""Raised when the same document would get another date: then the next sync dates all of them again."""

_DATE = re.compile(
    r"(?<!\d)((?:19|20)\d\d)([-._ ]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])"
    r"(?=\D|$|(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?(?!\d))"  # 202601311530 is a day and a time
)


@dataclass(slots=True)
class Dates:
    """Asked for each document that is read: what it says goes with what its source says, in this order."""

    order: Sequence[str]
    dating: Dating = field(default_factory=CarriedDates)
    _name: str = ""
    _known: dict[str, datetime | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.order:
            if source not in SOURCES:
                raise ConfigError(f"index.dates cannot hold {source!r}", nearest(source, SOURCES))

    @property
    def rule(self) -> str:
        """What an index was dated by."""
        return f"{VERSION} {' '.join(self.order)}"

    def of(self, said: datetime | None, item: Found, content: Content) -> datetime | None:
        """When a document was last changed that says this of itself. `content` is what the file holds now."""
        if self._name != item.name:  # one file may hold many documents
            self._name, self._known = item.name, {}
        for source in self.order:
            if source == "matter":
                found = said
            else:
                if source not in self._known:
                    by_name = source == "name"
                    self._known[source] = named(item.name) if by_name else self.dating.of(item, content, source)
                found = self._known[source]
            if found is not None:
                return found
        return None

    def begun(self, said: datetime | None, item: Found) -> datetime | None:
        """When a document was begun that says this of itself."""
        return said or named(item.name)


def named(name: str) -> datetime | None:
    """The first date in a file's name: 2026-01-31-x.md, 20260131.md, x 2026.01.31.md."""
    for match in _DATE.finditer(name.rpartition("/")[2]):
        try:
            return datetime(int(match[1]), int(match[3]), int(match[4]), tzinfo=UTC)
        except ValueError:  # the 31st of a short month
            continue
    return None
