"""Sentences of a paragraph, and lines that stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]*_`]{0,3}(?=\s)|[。！？]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nr|fig|mr|mrs|ms|dr|prof|st)|\b[A-Z])\.$", re.IGNORECASE
)
_WRAPPED = (50, 130)
"""Widths at which people wrap text; shorter and longer lines stand for themselves."""


class Line(NamedTuple):
    """A line of a text, with its offset."""

    start: int
    text: str  # without its line break

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def blank(self) -> bool:
        return not self.text.strip()


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence of a paragraph; a line that is not wrapped is one too."""
    lines = [line for line in lines_of(text) if not line.blank]
    return list(sentences_of(lines)) if lines else []


def lines_of(text: str) -> list[Line]:
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        found.append(Line(start, line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")))
        start += len(line)
    return found


def sentences_of(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Sentences of a paragraph or list item. A line break ends one unless the paragraph is wrapped there."""
    longest = max(len(line.text) for line in lines)
    start = lines[0].start
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        for end in _ends(line):
            yield start, end
            start = end
        if after is None or _closed(line.text) or not _wrapped(line, after, longest):
            yield start, line.end
            start = after.start if after else line.end


def _wrapped(line: Line, after: Line, longest: int) -> bool:
    """Whether a line goes on in the next one: its first word did not fit, or it is the middle of a sentence."""
    first, *_ = after.text.split(maxsplit=1)
    length = len(line.text.rstrip()) + 1 + len(first)
    if longest < _WRAPPED[0] or length <= 0.6 * longest:
        return False
    return first[0].islower() or (length > longest and longest <= _WRAPPED[1])


def _closed(text: str) -> bool:
    return text.rstrip("\"'”’)]*_` ").endswith((".", "!", "?", ":", "。", "！", "？", "："))


def _ends(line: Line) -> Iterator[int]:
    """Ends of the sentences inside a line."""
    for match in _SENTENCE_END.finditer(line.text):
        rest = line.text[match.end() :].lstrip()
        before = line.text[max(0, match.end() - 12) : match.end()]
        if rest and not rest[0].islower() and not _ABBREVIATION.search(before):
            yield line.start + match.end()
