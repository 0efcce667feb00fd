"""Sections of files that a library converted (PDF, Office), from headings and blocks in reading order."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.core.documents import Block, Section
from watersmeet.core.place import NOWHERE, Place
from watersmeet.parse._values import clean

_MAX_HEADING_LENGTH = 500
_MAX_HEADINGS = 20_000
_MAX_BLOCKS = 200_000
"""After so many headings, the others are text; after so many blocks, the rest is left out, with a warning."""


class SectionBuilder:
    """Collects headings and blocks; `sections` has the result and `warnings` what was cut."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._sections: list[Section] = []
        self._path: list[tuple[int, str]] = []
        self._level, self._place = 0, NOWHERE
        self._blocks: list[Block] = []
        self._headings = self._count = 0

    def heading(self, level: int, text: str, place: Place = NOWHERE) -> None:
        title = " ".join(clean(text).split())
        if not title:
            return
        self._headings += 1
        if self._headings > _MAX_HEADINGS:
            self._warn(f"more than {_MAX_HEADINGS:,} headings; the others are text")
            self.block(text, place)
            return
        self._finish()
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title[:_MAX_HEADING_LENGTH]))
        self._level, self._place = level, place
        if len(title) > _MAX_HEADING_LENGTH:
            self.block(title, place)

    def block(self, text: str, place: Place = NOWHERE) -> None:
        text = clean(text).strip("\n").rstrip()
        if not text.strip():
            return
        self._count += 1
        if self._count > _MAX_BLOCKS:
            self._warn(f"more than {_MAX_BLOCKS:,} paragraphs; the rest is left out")
            return
        self._blocks.append(Block(text, place))

    def break_off(self) -> None:
        """End the section and its headings: what follows stands under none of them."""
        self._finish()
        self._path, self._level = [], 0

    def sections(self) -> tuple[Section, ...]:
        self._finish()
        return tuple(self._sections)

    def _finish(self) -> None:
        if self._level or self._blocks:
            place = self._place if self._level else self._blocks[0].place
            headings = tuple(text for _, text in self._path)
            self._sections.append(Section(headings, self._level, place, tuple(self._blocks)))
        self._blocks, self._level = [], 0

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


def first_heading(sections: Sequence[Section]) -> str:
    """The first heading, if it is of the highest level."""
    levels = [section.level for section in sections if section.level]
    first = next((section for section in sections if section.level), None)
    return first.headings[-1] if first is not None and first.level == min(levels) else ""
