"""Reassembly of the passages of a document into one text, with their headings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from watersmeet.core.model import ChunkId, Hit, Passage
from watersmeet.core.names import CODE
from watersmeet.core.place import joined
from watersmeet.core.tables import continues_table

if TYPE_CHECKING:
    from watersmeet.core.documents import Section

LEVELS = "@levels"
"""Field for the result of `irregular_levels`."""
MAX_BLANK_LINES = 1_000
"""Blank lines that are shown between two passages of source code."""


OVERLAP = "@overlap"
"""Field for the number of characters that a passage may repeat from the one before."""


def reassemble(title: str, passages: Sequence[Passage], odd: Mapping[str, int] | None = None, overlap: int = 0) -> str:
    """Text of the passages with headings; `odd` has irregular heading levels. What a passage repeats from the one
    before (`overlap` characters, and the header rows of a long table) is in it once. Source code: its lines."""
    if is_code(passages):
        return _lines(passages)
    parts: list[str] = []  # each with what separates it from the one before
    last: Passage | None = None
    before: list[str] = []
    for passage in passages:
        path, above = passage.headings, last.headings if last else ()
        text, separator = passage.text, "\n\n"
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(above, path, strict=False)))
        for depth in range(common + 1, len(path) + 1):
            line = f"{'#' * min(6, _level(title, path[:depth], odd or {}))} {path[depth - 1]}"
            if depth == len(path) or line not in before:  # a short section may be in the text of its parent
                parts += ["\n\n", line]
        if last and path == above:
            header = _continued_table(last, passage)
            separator = "" if header else separator
            text = text[len(header) if header else _repeated(last.text, text, overlap) :]
        if text and (not path or text != path[-1]):  # a heading with nothing below it
            parts += [separator, text]
        last, before = passage, passage.text.splitlines()
    return "".join(parts[1:])


def _continued_table(before: Passage, passage: Passage) -> str:
    """The header rows that a passage repeats, if it continues a table. Another table of the same header begins after a
    blank line."""
    if before.lines and passage.lines and passage.lines[0] > before.lines[1] + 1:
        return ""
    return continues_table(before.text, passage.text)


def _repeated(before: str, text: str, overlap: int) -> int:
    """How many characters of a text repeat the end of the one before, up to a blank line that `overlap` allows."""
    end = text.rfind("\n\n", 0, overlap + 2) if overlap else -1
    while end > 0:
        if before.endswith(text[:end]):
            return end + 2
        end = text.rfind("\n\n", 0, end)
    return 0


def join_texts(passages: Sequence[Passage]) -> str:
    """Texts of successive passages of one section."""
    if is_code(passages):
        return _lines(passages)
    parts = [passages[0].text]
    for before, passage in pairwise(passages):
        header = _continued_table(before, passage)
        parts.append(passage.text[len(header) :] if header else f"\n\n{passage.text}")
    return "".join(parts)


def is_code(passages: Sequence[Passage]) -> bool:
    """Whether the passages are source code, which is shown without headings."""
    return bool(passages) and all(one.kind == CODE and one.place.lines for one in passages)


def _lines(passages: Sequence[Passage]) -> str:
    """Source code with its blank lines, from the first passage on. Parts of one long line are joined by a space."""
    text, end = "", 0
    for passage in passages:
        first, last = passage.place.lines or (end, end)
        gap = min(first - end, MAX_BLANK_LINES) if end else 0
        text += ("\n" * gap if gap > 0 else " " if end else "") + passage.text
        end = last
    return text


def irregular_levels(title: str, sections: Sequence[Section]) -> dict[str, int]:
    """Heading levels that differ from the depth of their heading path, by that path."""
    odd: dict[str, int] = {}
    for section in sections:
        if section.level and section.level != _level(title, section.headings, odd):
            odd[_key(section.headings)] = section.level
    return odd


def _level(title: str, path: Sequence[str], odd: Mapping[str, int]) -> int:
    """Expected level: one below the parent heading; the first is the title, or below it."""
    level = 0 if path[0] == title else 1  # the title may be the file's name
    for depth in range(1, len(path) + 1):
        level = odd.get(_key(path[:depth]), level + 1)
    return level


def _key(path: Sequence[str]) -> str:
    return "\n".join(path)


def in_context(hit: Hit, passages: Mapping[ChunkId, Passage]) -> Passage:
    """The passage of a hit, with the surrounding ones that the stage `context` chose."""
    passage = passages[hit.chunk]
    read = [passages[chunk] for chunk in context_of(hit) if chunk in passages]
    if len(read) < 2:
        return passage
    same = len({one.headings for one in read}) == 1
    text = join_texts(read) if same else reassemble(passage.title, read)
    return replace(passage, text=text, place=joined([one.place for one in read]))


def context_of(hit: Hit) -> Sequence[ChunkId]:
    """Chunks to show with a hit, including itself; empty if it is shown alone."""
    return [chunk for evidence in hit.evidence for chunk in evidence.detail.get("context", ())]
