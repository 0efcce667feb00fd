"""Paragraphs of plain text."""

from __future__ import annotations

from collections.abc import Iterator

from watersmeet.core.documents import Block
from watersmeet.core.place import Place

_MAX_PARAGRAPHS = 100_000
"""The text after so many paragraphs is one block: only generated files have so many."""


def paragraphs(text: str) -> Iterator[Block]:
    """Paragraphs between blank lines, with their line numbers."""
    start = found = 0
    lines = text.split("\n")
    for number, line in enumerate((*lines, ""), 1):
        if line.strip():
            start = start or number
        elif start:
            if found == _MAX_PARAGRAPHS:
                yield Block("\n".join(lines[start - 1 :]), Place((start, len(lines))))
                return
            yield Block("\n".join(lines[start - 1 : number - 1]), Place((start, number - 1)))
            found += 1
            start = 0
