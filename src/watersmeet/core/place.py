"""Place of a passage in its document: lines, pages, slides, a sheet or an anchor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from watersmeet.core.bidi import one_line
from watersmeet.core.lazy_dataclass import dataclass

Range = tuple[int, int]
"""First and last, from 1, inclusive."""

MAX_NAME_LENGTH = 100
"""Characters of a sheet's name; longer ones are cut."""
MAX_ANCHOR_LENGTH = 300
"""Characters of an anchor; half of a longer one would lead nowhere, so it is left out."""
_WRITTEN = re.compile(
    r"(?::(?P<lines>\d{1,15}(?:-\d{1,15})?)|p\. (?P<pages>\d{1,9}(?:-\d{1,9})?)|slide (?P<slides>\d{1,9}(?:-\d{1,9})?)"
    r"|sheet (?P<sheet>.+)|#(?P<anchor>.+))?"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of the stored text, and pages, slides, a sheet or an anchor if the format has them."""

    lines: Range | None = None
    pages: Range | None = None
    slides: Range | None = None
    sheet: str = ""
    anchor: str = ""

    def __post_init__(self) -> None:
        if self.lines:
            _check(self.lines)
        if not self.has_spot:  # the usual case; places are created for every paragraph
            return
        for span in filter(None, (self.pages, self.slides)):
            _check(span)
        object.__setattr__(self, "sheet", one_line(self.sheet)[:MAX_NAME_LENGTH].rstrip())
        anchor = one_line(self.anchor).rstrip()
        object.__setattr__(self, "anchor", anchor if len(anchor) <= MAX_ANCHOR_LENGTH else "")
        if sum(map(bool, (self.pages, self.slides, self.sheet, self.anchor))) > 1:
            raise ValueError("a place has only one of pages, slides, sheet and anchor")

    @property
    def has_spot(self) -> bool:
        return bool(self.pages or self.slides or self.sheet or self.anchor)

    @property
    def spot(self) -> str:
        """Place without lines: `p. 3`, `p. 3-4`, `slide 4`, `sheet Budget`, `#install`, or empty."""
        if self.pages:
            return f"p. {_range(self.pages)}"
        if self.slides:
            return f"slide {_range(self.slides)}"
        return f"sheet {self.sheet}" if self.sheet else f"#{self.anchor}" if self.anchor else ""

    @property
    def where(self) -> str:
        """Place for display: the spot, else the first line (`:12`), else empty."""
        return self.spot or (f":{self.lines[0]}" if self.lines else "")

    @property
    def extent(self) -> str:
        """Place for citations: the spot, else all lines (`:12-18`), else empty."""
        return self.spot or (f":{self.lines[0]}-{self.lines[1]}" if self.lines else "")

    def within(self, outer: Place) -> Place:
        """This place with the spot of the enclosing one, if it has none of its own."""
        return self if self.has_spot or not outer.has_spot else replace(outer, lines=self.lines)

    def to_json(self) -> dict[str, Any]:
        return {"where": self.where, "lines": list(self.lines) if self.lines else None}

    @classmethod
    def read(cls, written: str) -> Place:
        """Parse the output of `spot`, `where` or `extent`."""
        match = _WRITTEN.fullmatch(written)
        if match is None:
            raise ValueError(f"not a place: {written!r}")
        spans = {name: _span(match[name]) for name in ("lines", "pages", "slides")}
        return cls(**spans, sheet=match["sheet"] or "", anchor=match["anchor"] or "")


NOWHERE = Place()


def joined(places: Sequence[Place]) -> Place:
    """Combined place of several parts: pages, slides and lines from the first to the last; the sheet or anchor of the
    first part that has one."""
    if len(places) == 1:
        return places[0]
    lines = _around(one.lines for one in places)
    spots = [one for one in places if one.has_spot]
    if not spots:
        return Place(lines)
    first = spots[0]
    pages = _around(one.pages for one in spots) if first.pages else None
    slides = _around(one.slides for one in spots) if first.slides else None
    return replace(first, lines=lines, pages=pages, slides=slides)


def located(name: str, where: str) -> str:
    """Document or file name with its place: `a.md:12`, `a.html#install`, `a.pdf p. 3`."""
    return f"{name} {where}" if where and where[0] not in ":#" else name + where


def _check(span: Range) -> None:
    if not 1 <= span[0] <= span[1]:
        raise ValueError(f"not a valid place: {span[0]} to {span[1]}")


def _range(span: Range) -> str:
    return str(span[0]) if span[0] == span[1] else f"{span[0]}-{span[1]}"


def _span(written: str | None) -> Range | None:
    if not written:
        return None
    first, _, last = written.partition("-")
    return int(first), int(last or first)


def _around(spans: Iterable[Range | None]) -> Range | None:
    ends = list(zip(*filter(None, spans), strict=True))
    return (min(ends[0]), max(ends[1])) if ends else None
