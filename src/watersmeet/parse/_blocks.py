"""Paragraphs of plain text."""

from __future__ import annotations

from collections.abc import Iterator

from watersmeet.core.pages import Block


def paragraphs(text: str) -> Iterator[Block]:
    """What stands between blank lines, with its line numbers."""
    start = 0
    lines = text.split("\n")
    for number, line in enumerate((*lines, ""), 1):
        if line.strip():
            start = start or number
        elif start:
            yield Block("\n".join(lines[start - 1 : number - 1]), start, number - 1)
            start = 0
