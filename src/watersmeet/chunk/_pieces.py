"""How does a section that is too long for one chunk come apart?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from watersmeet.core.documents import Block
from watersmeet.core.place import joined

_SENTENCE = re.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]")
_LAID_OUT = re.compile(r"[ \t]{4}|\s*(?:```|~~~|[-*+|<>]|\d+[.)]\s)")


def pieces(blocks: Sequence[Block], limit: int) -> list[Block]:
    """Blocks packed in order into as few pieces as a greedy reading allows, each at most `limit` long.

    A block that fits is never cut. One that does not is cut at the last good place: between paragraphs,
    then lines (in code, lists and tables) or sentences (in prose), then words, then anywhere.
    """
    packed: list[list[Block]] = [[]]
    length = 0
    for block in blocks:
        room = limit - length
        for part in (block,) if len(block.text) <= limit else _cut(block, limit, room):
            if packed[-1] and length + len(part.text) > limit:
                packed.append([])
                length = 0
            packed[-1].append(part)
            length += len(part.text) + 2
    _even_out(packed, limit)
    return [_joined(parts) for parts in packed if parts]


def _joined(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    return Block("\n\n".join(part.text for part in parts), joined([part.place for part in parts]))


def _even_out(packed: list[list[Block]], limit: int) -> None:
    """A short rest at the end takes the last part of the piece before it, if that can spare it."""
    if len(packed) < 2 or len(packed[-2]) < 2:
        return
    rest = sum(len(part.text) + 2 for part in packed[-1])
    moved = len(packed[-2][-1].text)
    kept = sum(len(part.text) + 2 for part in packed[-2][:-1])
    if rest < limit // 8 and rest + moved <= limit and kept >= rest + moved:
        packed[-1].insert(0, packed[-2].pop())


def _cut(block: Block, limit: int, room: int) -> Iterator[Block]:
    """Parts of a block that is too long; the first fills the room left in a piece, if that is worth it."""
    text, start, (line, last) = block.text, 0, block.place.lines or (0, 0)
    laid_out = bool(_LAID_OUT.match(text))
    size = room if room > limit // 2 else limit
    while start < len(text):
        left = len(text) - start
        if limit < left < limit + limit // 4:
            size = min(size, left // 2 + limit // 8)  # no crumb at the end
        end = len(text) if left <= size else start + _place(text[start : start + size], laid_out)
        after = min(line + text.count("\n", start, end), last)
        part = text[start:end].strip("\n" if laid_out else None)
        if part.strip():
            lines = (line, max(line, after - (text[end - 1] == "\n"))) if line else None
            yield Block(part, replace(block.place, lines=lines))
        start, line, size = end, after, limit


def _place(window: str, laid_out: bool) -> int:
    """Where to end a piece that begins with this window; a cut in its first half is a last resort."""
    half = len(window) // 2
    paragraph = window.rfind("\n\n") + 2
    if paragraph > half:
        return paragraph
    line = window.rfind("\n") + 1
    if laid_out and line > 1:
        return line
    sentence = max((match.end() for match in _SENTENCE.finditer(window, half)), default=0)
    word = max(line, window.rfind(" ") + 1)
    return sentence or (line if line > half else word) or len(window)
