"""Dates of documents: last change and creation, from the document itself or from its source.

`date:` and `created:` in a document, and a date in a file's name, are dates of creation, not of change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from datetime import UTC, datetime

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.indexing import CarriedDates, Content, Dating, Found
from watersmeet.core.lazy_dataclass import dataclass

SOURCES = ("matter", "name", "git", "mtime")
DEFAULT = ("matter", "git", "mtime")
VERSION = 2
"""Raise this when documents would get other dates: the next sync then dates all of them again."""

_DATE = re.compile(
    r"(?<!\d)((?:19|20)\d\d)([-._ ]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])"
    r"(?=\D|$|(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?(?!\d))"  # 202601311530 is a day and a time
)


@dataclass(slots=True)
class Dates:
    """Dating rules: tries the sources of dates in this order, with a cache for the current file."""

    order: Sequence[str]
    dating: Dating = field(default_factory=CarriedDates)
    _name: str = ""
    _cached: dict[str, datetime | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.order:
            if source not in SOURCES:
                raise ConfigError(f"index.dates cannot hold {source!r}", nearest(source, SOURCES))

    @property
    def rule(self) -> str:
        """The rule as text, stored in the index."""
        return f"{VERSION} {' '.join(self.order)}"

    def of(self, stated: datetime | None, item: Found, content: Content) -> datetime | None:
        """The date of the last change; `stated` is that in the document, `content` the present file."""
        if self._name != item.name:  # a file may hold many documents
            self._name, self._cached = item.name, {}
        for source in self.order:
            if source == "matter":
                found = stated
            else:
                if source not in self._cached:
                    by_name = source == "name"
                    self._cached[source] = named(item.name) if by_name else self.dating.of(item, content, source)
                found = self._cached[source]
            if found is not None:
                return found
        return None

    def created(self, stated: datetime | None, item: Found) -> datetime | None:
        """The date of creation; `stated` is that in the document."""
        return stated or named(item.name)


def named(name: str) -> datetime | None:
    """The first date in a file's name: 2026-01-31-x.md, 20260131.md, x 2026.01.31.md."""
    for match in _DATE.finditer(name.rpartition("/")[2]):
        try:
            return datetime(int(match[1]), int(match[3]), int(match[4]), tzinfo=UTC)
        except ValueError:  # the 31st of a short month
            continue
    return None
