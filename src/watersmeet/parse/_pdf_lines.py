"""Headings inside of the paragraphs of a PDF page: whole lines in bold type, which liteparse leaves in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from liteparse import LayoutBlock, ParsedPage, TextItem

_BOLD = re.compile(r"bold|black|heavy|demi|-medi|cmbx|sfbx|-b$", re.IGNORECASE)
_MAX_LENGTH, _MAX_LINES = 90, 2
"""Characters and lines of a heading; more bold type is emphasis."""
_MAX_PAIRS = 2_000_000
"""Texts times blocks of a page; beyond, headings are not looked for."""


class Part(NamedTuple):
    text: str
    is_heading: bool


def searchable(page: ParsedPage) -> bool:
    return len(page.text_items) * len(page.blocks or ()) <= _MAX_PAIRS


def parts(page: ParsedPage, block: LayoutBlock, text: str) -> list[Part]:
    """A paragraph, whose plain text is `text`, cut at its headings."""
    text = " ".join(text.split())
    found: list[Part] = []
    free = 0
    for title in _titles(_lines(page, block)):
        at = text.find(title, free)
        if at < 0:
            continue
        found += [Part(text[free:at].strip(), False), Part(title, True)]
        free = at + len(title)
    if not found:
        return [Part(text, False)]
    return [part for part in (*found, Part(text[free:].strip(), False)) if part.text]


def _lines(page: ParsedPage, block: LayoutBlock) -> list[tuple[str, bool]]:
    """Lines of a block from top to bottom, and whether all of a line is bold."""
    box = block.bbox
    if box is None:
        return []
    right, bottom = box.x + box.width + 1, box.y + box.height + 1
    inside = [
        item
        for item in page.text_items
        if item.text.strip() and box.x - 1 <= item.x <= right and box.y - 1 <= item.y + item.height / 2 <= bottom
    ]
    lines: list[list[TextItem]] = []
    for item in sorted(inside, key=lambda one: (one.y + one.height / 2, one.x)):
        if lines and item.y + item.height / 2 - (lines[-1][0].y + lines[-1][0].height / 2) <= item.height / 2:
            lines[-1].append(item)
        else:
            lines.append([item])
    return [
        (
            " ".join(" ".join(item.text for item in sorted(line, key=lambda one: one.x)).split()),
            all(_BOLD.search(item.font_name or "") for item in line),
        )
        for line in lines
    ]


def _titles(lines: list[tuple[str, bool]]) -> Iterator[str]:
    """Bold lines that stand alone, or in pairs, between lines of other type."""
    if all(bold for _, bold in lines):
        return
    run: list[str] = []
    for text, bold in (*lines, ("", False)):
        if bold:
            run.append(text)
            continue
        title = " ".join(run)
        if run and len(run) <= _MAX_LINES and _is_title(title):
            yield title
        run = []


def _is_title(text: str) -> bool:
    return 3 <= len(text) <= _MAX_LENGTH and text[-1] not in ".,;" and any(char.isalpha() for char in text)
