"""When was a document last changed? What it says itself, else its repository, else its file. And when was it begun?

`date:` and `created:` in a document, and a date in a file's name, say when it was begun, and nothing of its changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.indexing import Found
from watersmeet.engine.commits import Commits, history

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
    """Asked for each document that is read; `expected` are the paths of all files that will be read in this sync."""

    order: Sequence[str]
    expected: Collection[str] = ()
    _tops: dict[str, str] = field(default_factory=dict)
    _histories: dict[str, Commits] = field(default_factory=dict)
    _path: str = ""
    _known: dict[str, datetime | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.order:
            if source not in SOURCES:
                raise ConfigError(f"index.dates cannot hold {source!r}", nearest(source, SOURCES))

    @property
    def rule(self) -> str:
        """What an index was dated by."""
        return f"{VERSION} {' '.join(self.order)}"

    def of(self, said: datetime | None, item: Found, content: bytes) -> datetime | None:
        """When a document was last changed that says this of itself.

        `content` is what the file holds now: a commit dates a file only as long as that is what it committed.
        """
        if self._path != item.path:  # one file may hold many documents
            self._path, self._known = item.path, {}
        for source in self.order:
            if source == "matter":
                found = said
            else:
                if source not in self._known:
                    self._known[source] = self._of_file(source, item, content)
                found = self._known[source]
            if found is not None:
                return found
        return None

    def begun(self, said: datetime | None, item: Found) -> datetime | None:
        """When a document was begun that says this of itself."""
        return said or named(item.name)

    def _of_file(self, source: str, item: Found, content: bytes) -> datetime | None:
        if source == "name":
            return named(item.name)
        if source == "git":
            return self._committed(item.path, content)
        return datetime.fromtimestamp(item.mtime, UTC)

    def _committed(self, path: str, content: bytes) -> datetime | None:
        top = self._top(os.path.dirname(path))
        if not top:
            return None
        if top not in self._histories:
            here = [p for p in (*self.expected, path) if self._top(os.path.dirname(p)) == top]
            self._histories[top] = history(top, {_below(p, top) for p in here})
        return self._histories[top].of(_below(path, top), content)

    def _top(self, folder: str) -> str:
        """The work tree that a folder lies in; empty if in none."""
        if folder not in self._tops:
            parent = os.path.dirname(folder)
            if os.path.exists(os.path.join(folder, ".git")):
                self._tops[folder] = folder
            else:
                self._tops[folder] = self._top(parent) if parent != folder else ""
        return self._tops[folder]


def _below(path: str, top: str) -> str:
    return path[len(top.rstrip("/")) + 1 :]


def named(name: str) -> datetime | None:
    """The first date in a file's name: 2026-01-31-x.md, 20260131.md, x 2026.01.31.md."""
    for match in _DATE.finditer(name.rpartition("/")[2]):
        try:
            return datetime(int(match[1]), int(match[3]), int(match[4]), tzinfo=UTC)
        except ValueError:  # the 31st of a short month
            continue
    return None
