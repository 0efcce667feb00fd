"""Sections of a source file from its definitions: each line is in exactly one, as it is written.

A section is a definition, the head of a large class, or a group of small definitions and other lines. All sections
have level 0 and one block that fits into a chunk, so that the chunker neither joins nor cuts them: a long function is
several sections with the same headings.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from watersmeet.core.documents import Block, Section
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.place import Place
from watersmeet.parse._definitions import MAX_SIGNATURE_LENGTH, Definition

MAX_DEPTH = 12
"""Definitions nested deeper are a part of the one around them."""
SMALL = 200
"""A definition of fewer characters shares a section with its neighbours."""
TINY = 120
"""Other lines of fewer characters are a part of the definition below them."""
MIN_NESTED = 400
"""A function inside of a long function is a section of its own from so many characters."""
CLOSING_ROOM = 64
"""Characters that closing brackets may add to a full section."""
Path = tuple[str, ...]


@dataclass(slots=True)
class _Span:
    """Rows for one section. `names` are those of its definitions; none: lines between definitions."""

    first: int
    last: int
    scope: Path  # names of the definitions around it
    headings: Path
    names: tuple[str, ...] = ()
    open: bool = False  # may be joined by others


def sections(lines: list[str], definitions: list[Definition], limit: int) -> Iterator[Section]:
    """Sections of at most `limit` characters, in order."""
    spread = _Spread(lines, max(20, limit - CLOSING_ROOM))
    spread.over(definitions, 0, len(lines) - 1, (), ())
    for span in spread.spans:
        for first, last in spread.pieces(span.first, span.last):
            place = Place((first + 1, last + 1))
            block = Block("\n".join(lines[first : last + 1]), place)
            yield Section(span.headings, 0, place, (block,))


class _Spread:
    """Collects the spans of a file."""

    def __init__(self, lines: list[str], limit: int) -> None:
        self.lines = lines
        self.limit = limit
        self.spans: list[_Span] = []
        self._before = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def size(self, first: int, last: int) -> int:
        return self._before[last + 1] - self._before[first]

    def over(self, definitions: list[Definition], first: int, last: int, scope: Path, own: Path) -> None:
        """Spread the rows over spans: one for each definition, one for the lines between two."""
        row = first
        for one in definitions:
            start, end = max(one.first, row), min(one.last, last)
            if end < start:
                continue
            self._loose(row, start - 1, scope, own)
            children = one.children if one.container else [c for c in one.children if self._is_large(c)]
            if children and len(scope) < MAX_DEPTH and self.size(start, end) > self.limit:
                self.over(children, start, end, (*scope, one.name), (*scope, one.signature))
            else:
                small = self.size(start, end) < SMALL
                self._put(_Span(start, end, scope, (*scope, one.signature), (one.name,), small))
            row = end + 1
        self._loose(row, last, scope, own)

    def _is_large(self, one: Definition) -> bool:
        return self.size(one.first, max(one.first, min(one.last, len(self.lines) - 1))) >= MIN_NESTED

    def _loose(self, first: int, last: int, scope: Path, own: Path) -> None:
        first, last = self._trimmed(first, last)
        if first > last:
            return
        if self.spans and all(_closes(self.lines[row]) for row in range(first, last + 1)):
            before = self.spans[-1]
            if self.size(first, last) <= CLOSING_ROOM // 2:
                before.last = last
                return
        self._put(_Span(first, last, scope, own, (), True))

    def _put(self, span: _Span) -> None:
        """Add a span, or join it with the one before if both are small parts of the same scope."""
        before = self.spans[-1] if self.spans else None
        if before is None or before.scope != span.scope or not self._may_join(before, span):
            self.spans.append(span)
            return
        names = (*before.names, *span.names)
        before.open = span.open
        if before.names and span.names:
            before.headings = (*span.scope, _listed(names))
        elif span.names:
            before.headings = span.headings
        before.names, before.last = names, span.last

    def _may_join(self, before: _Span, span: _Span) -> bool:
        """Both are small; or a line or two, such as a comment between two definitions, precede a definition."""
        together = self.size(before.first, span.last)
        if before.open and span.open:
            return together <= self.limit // 2
        return not before.names and self.size(before.first, before.last) < TINY and together <= self.limit

    def _trimmed(self, first: int, last: int) -> tuple[int, int]:
        """Rows without the blank ones at both ends."""
        while first <= last and not self.lines[first].strip():
            first += 1
        while first <= last and not self.lines[last].strip():
            last -= 1
        return first, last

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Rows in pieces that fit, cut at blank lines and where little is indented."""
        first, last = self._trimmed(first, last)
        while first <= last:
            end = last
            if self.size(first, last) > self.limit + CLOSING_ROOM:
                end = self._cut(first, last)
            yield self._trimmed(first, end)
            first, last = self._trimmed(end + 1, last)

    def _cut(self, first: int, last: int) -> int:
        """Last row of the first piece."""
        end = first
        while end < last and self.size(first, end + 1) <= self.limit:
            end += 1
        best, chosen = (-1, 0), end
        for row in range(end, first, -1):
            if self.size(first, row) < self.limit // 2:
                break
            after = self.lines[row + 1]
            if _closes(after) or not after.strip():
                continue
            rank = (int(not self.lines[row].strip()), -(len(after) - len(after.lstrip())))
            if best == (-1, 0) or rank > best:
                best, chosen = rank, row
        return chosen


def _closes(line: str) -> bool:
    """Whether a line is blank or only closes what is above it."""
    stripped = line.strip()
    return stripped in ("end", "fi", "done", "esac") or not stripped.strip("}])>;, \t")


def _listed(names: tuple[str, ...]) -> str:
    """Names in one heading, as many as fit."""
    text = ", ".join(dict.fromkeys(names))
    return text if len(text) <= MAX_SIGNATURE_LENGTH else text[:MAX_SIGNATURE_LENGTH].rpartition(",")[0]
