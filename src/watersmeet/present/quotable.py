"""Quotable pieces of a passage: sentences, list items, code blocks and tables, each verbatim.

Headings, rules, images and lines of bare links are no answer to anything, so they are not pieces; a piece carries the
words of the headings above it instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from watersmeet.present.sentences import Line, lines_of, sentences_of

MAX_PIECE = 1200
"""Characters of a piece; a longer block of code is divided between its lines."""
MAX_TABLE = 400
"""Characters of a table that is one piece; each row of a larger one is a piece."""

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|$)|\s*\*\*[^*]{1,120}\*\*:?\s*$|\s*<h[1-6]\b")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,})\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•‣▪]|\(?\d{1,3}[.)])\s+\S")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_DELIMITER = re.compile(r"\s*\|[\s:|-]+\|\s*$")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,2000}[^()]{0,300}\)|<?\bhttps?://[^\s<>)]{1,2000}>?")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>|<!--.{0,2000}?-->")
_DEFINITION = re.compile(r"\s{0,3}\[[^\]]{1,200}\]:\s*\S+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a passage: `start` and `end` are offsets in its text."""

    start: int
    end: int
    text: str
    headings: str = ""
    """The headings above it in the passage."""
    block: int = 0
    """The number of its paragraph, list, code block or table."""
    kind: str = "paragraph"
    """The kind of its block: paragraph, item, code or table."""

    @property
    def introduces(self) -> bool:
        """Whether it ends with a colon: what follows belongs to it."""
        return self.kind != "code" and self.text.rstrip("*_ ").endswith((":", "："))


def pieces(text: str) -> list[Piece]:
    """The pieces of a text, in order."""
    found: list[Piece] = []
    headings = ""
    for number, (kind, lines) in enumerate(_blocks(lines_of(text))):
        if kind == "heading":
            headings = lines[0].text.strip("#*_ \t:")
            continue
        parts = _PARTS[kind](lines)
        for start, end in parts:
            piece = _trimmed(Piece(start, end, text[start:end], headings, number, kind))
            if piece.kind == "code" or _says_something(piece.text):
                found.append(piece)
    return found


def _blocks(lines: list[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Blocks of lines with their kind: heading, code, table, item or paragraph."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.blank:
            at += 1
            continue
        kind, end = _block_at(lines, at)
        yield kind, lines[at:end]
        at = end + (kind == "heading" and end < len(lines) and bool(_UNDERLINE.match(lines[end].text)))


def _block_at(lines: list[Line], at: int) -> tuple[str, int]:
    """Kind and end of the block that begins at a line."""
    text = lines[at].text
    if fence := _FENCE.match(text):
        ends = (n + 1 for n in range(at + 1, len(lines)) if _closes(lines[n].text.strip(), fence[1]))
        return "code", next(ends, len(lines))
    if _HEADING.match(text) or (
        _stands_alone(lines, at) and at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1].text)
    ):
        return "heading", at + 1
    if _ROW.match(text):
        return "table", _run(lines, at, lambda line: bool(_ROW.match(line.text)))
    kind = "item" if _ITEM.match(text) else "paragraph"
    return kind, _run(lines, at, lambda line: not (line.blank or _begins_block(line.text)))


def _closes(text: str, fence: str) -> bool:
    """Whether a line ends the code block that this fence began."""
    return text.startswith(fence) and not text.strip("`~")


def _stands_alone(lines: list[Line], at: int) -> bool:
    return at == 0 or lines[at - 1].blank


def _begins_block(text: str) -> bool:
    return any(pattern.match(text) for pattern in (_ITEM, _FENCE, _HEADING, _ROW))


def _run(lines: list[Line], at: int, continues: Callable[[Line], bool]) -> int:
    end = at + 1
    while end < len(lines) and continues(lines[end]):
        end += 1
    return end


def _divided(lines: list[Line]) -> Iterator[tuple[int, int]]:
    """A block whole, or in parts between its lines if it is too long."""
    start = lines[0].start
    for before, line in pairwise(lines):
        if line.end - start > MAX_PIECE:
            yield start, before.end
            start = line.start
    yield start, min(lines[-1].end, start + MAX_PIECE)


def _rows(lines: list[Line]) -> Iterator[tuple[int, int]]:
    """A small table whole, a larger one by rows, without its head."""
    if lines[-1].end - lines[0].start <= MAX_TABLE:
        yield lines[0].start, lines[-1].end
        return
    begin = 2 if len(lines) > 2 and _DELIMITER.match(lines[1].text) else 0
    yield from ((line.start, line.end) for line in lines[begin:])


_PARTS: dict[str, Callable[[list[Line]], Iterator[tuple[int, int]]]] = {
    "code": _divided,
    "table": _rows,
    "item": sentences_of,
    "paragraph": sentences_of,
}


def _trimmed(piece: Piece) -> Piece:
    """A piece without its margins, and not longer than the limit. The first line of code keeps its indent."""
    text = piece.text.rstrip()
    lead = 0 if piece.kind == "code" else len(text) - len(text.lstrip())
    kept = text[lead : lead + MAX_PIECE]
    return replace(piece, start=piece.start + lead, end=piece.start + lead + len(kept), text=kept)


def _says_something(text: str) -> bool:
    """Whether a piece has words besides links, images and tags."""
    if _DEFINITION.match(text) or _UNDERLINE.match(text):
        return False
    plain = _TAG.sub(" ", _LINK.sub(" ", text))
    return sum(map(str.isalnum, plain)) >= max(2, 0.2 * sum(map(str.isalnum, text)))
