"""Chunker by headings: a chunk is a section with its heading path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from watersmeet.core.documents import Block, Chunk, Document, Section
from watersmeet.core.errors import ConfigError
from watersmeet.core.ids import chunk_id
from watersmeet.core.options import option
from watersmeet.core.place import Place, joined
from watersmeet.core.tables import table_header

_MIN_LIMIT = 20
_SENTENCE = re.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]")
_LAID_OUT = re.compile(r"[ \t]{4}|\s*(?:```|~~~|[-*+|<>]|\d+[.)]\s)")


@dataclass(frozen=True, slots=True)
class Headings:
    """Splits a document at its headings, long sections at their paragraphs; small sections join their parent.

    A section shorter than `min_chars` joins the chunk of its parent section, if it comes right after that and there is
    room; its heading becomes a line of the text. Otherwise it is a chunk of its own: siblings share a chunk only
    together with their parent. The chunk has the heading path of its first section.

    A chunk id depends on the document, that path and the position among chunks of the same path. A section that joins
    another has no id of its own, so inserting a section changes no other id.
    """

    form: ClassVar[int] = 2
    """Version of this chunker: increased when chunks or their ids change."""

    max_chars: int = option(1600, "longest chunk, in characters")
    min_chars: int = option(200, "a section with fewer characters joins its parent's chunk")
    overlap: int = option(0, "characters that a chunk repeats from the one before, in a section cut in pieces", least=0)

    def __post_init__(self) -> None:
        if self.max_chars < _MIN_LIMIT:
            raise ConfigError(f"chunk.headings.max_chars is {self.max_chars}", f"use {_MIN_LIMIT} or more")
        if not 0 <= self.min_chars <= self.max_chars:
            raise ConfigError(f"chunk.headings.min_chars is {self.min_chars}", f"use 0 to max_chars ({self.max_chars})")
        if self.overlap > self.max_chars // 2:
            raise ConfigError(f"chunk.headings.overlap is {self.overlap}", f"use 0 to {self.max_chars // 2}")

    def split(self, document: Document) -> list[Chunk]:
        chunks: list[Chunk] = []
        count: dict[tuple[str, ...], int] = {}
        for group in _groups(_section_tree(document.sections, self), self.max_chars):
            headings = group.leader.section.headings
            text = group.text() or (headings[-1] if headings else "") or document.title
            ordinal = count[headings] = count.get(headings, -1) + 1
            id_ = chunk_id(document.id, headings, ordinal)
            chunks.append(Chunk(id_, document.id, text[: self.max_chars], headings, group.place()))
        if not chunks:
            title = document.title[: self.max_chars]
            chunks.append(Chunk(chunk_id(document.id, (), 0), document.id, title))
        return chunks


class _Group:
    """Sections that share a chunk: a first section of any size, and small ones."""

    __slots__ = ("inside", "leader", "length", "parts")

    def __init__(self, leader: _Node, part: Block | None) -> None:
        self.leader = leader
        self.parts: list[tuple[_Node, Block | None]] = [(leader, part)]
        self.length = leader.cost
        self.inside = {leader.index}

    def add(self, node: _Node) -> None:
        self.parts.append((node, node.pieces[0] if node.pieces else None))
        self.length += node.cost
        self.inside.add(node.index)

    def takes(self, node: _Node, limit: int) -> bool:
        """Whether a section may join this chunk."""
        return node.small and node.parent in self.inside and self.length + node.cost <= limit + 2

    def close(self) -> _Group:
        """Remove headings at the end whose text is in later chunks only."""
        while self.parts[-1][0].hollow:
            self.parts.pop()
        return self

    def text(self) -> str:
        """Text of the parts under their headings, except that of the first, which is in the heading path."""
        lines: list[str] = []
        for position, (node, part) in enumerate(self.parts):
            if position:
                lines.append(node.heading)
            if part:
                lines.append(part.text)
        return "\n\n".join(lines)

    def place(self) -> Place:
        """Place from the first heading, if its text begins here, to the end of the last part."""
        leader, part = self.parts[0]
        begins = leader.section.level and part and part is leader.pieces[0]
        heading = [leader.section.place] if begins else []
        return joined([*heading, *(part.place if part else node.section.place for node, part in self.parts)])


def _groups(nodes: list[_Node], limit: int) -> Iterator[_Group]:
    group: _Group | None = None
    for node in nodes[1:]:
        if group is not None:
            if group.takes(node, limit):
                group.add(node)
                continue
            yield group.close()
        if node.hollow:
            group = None
            continue
        for piece in node.pieces[:-1]:
            yield _Group(node, piece)
        group = _Group(node, node.pieces[-1] if node.pieces else None)
    if group is not None:
        yield group.close()


# ---------------------------------------------------------------- the tree of sections


@dataclass(slots=True)
class _Node:
    """A section in the tree, with its text in pieces that fit into a chunk."""

    index: int
    section: Section
    parent: int
    pieces: list[Block]
    small: bool
    children: int = 0

    @property
    def heading(self) -> str:
        """Heading line of this section inside the chunk of its parent."""
        return "#" * self.section.level + " " + self.section.headings[-1] if self.section.level else ""

    @property
    def cost(self) -> int:
        """Characters that its heading and the last piece of its text take in a chunk."""
        heading = self.section.level + 3 + len(self.section.headings[-1]) if self.section.level else 0
        return heading + (len(self.pieces[-1].text) + 2 if self.pieces else 0)

    @property
    def hollow(self) -> bool:
        """Whether it is only a heading, which is in the paths of its subsections."""
        return not self.pieces and self.children > 0


def _section_tree(sections: Sequence[Section], chunker: Headings) -> list[_Node]:
    """Sections in order, each with the index of its parent; the first node is the document itself."""
    root = _Node(0, Section((), -1), -1, [], small=True)
    nodes, open_ = [root], [root]
    for section in sections:
        while open_[-1].section.level >= section.level:
            open_.pop()
        cut = _split_blocks(_placed(section), chunker.max_chars, chunker.overlap)
        small = not cut or (len(cut) == 1 and len(cut[0].text) < chunker.min_chars)
        node = _Node(len(nodes), section, open_[-1].index, cut, small)
        nodes.append(node)
        open_.append(node)
    for node in reversed(nodes[1:]):
        nodes[node.parent].children += 1
    _pass_comments_on(nodes, chunker.max_chars)
    return nodes


def _placed(section: Section) -> Sequence[Block]:
    """Blocks of a section, which inherit its page, slide, sheet or anchor if they have none."""
    if not section.place.has_spot:
        return section.blocks
    return [replace(block, place=block.place.within(section.place)) for block in section.blocks]


def _pass_comments_on(nodes: list[_Node], limit: int) -> None:
    """Move the text of a section that is only `<!-- a comment -->` to the subsection after it."""
    for node, after in pairwise(nodes):
        if not node.small or after.parent != node.index or not all(_is_comment(b.text) for b in node.pieces):
            continue
        for comment in node.pieces:
            first = after.pieces[0] if after.pieces else Block("", comment.place)
            text = f"{comment.text}\n\n{first.text}".strip()
            if len(text) <= limit:
                after.pieces[:1] = [Block(text, joined((comment.place, first.place)))]
                node.pieces = []


def _is_comment(text: str) -> bool:
    text = text.strip()
    return text.startswith("<!--") and text.find("-->") == len(text) - 3


# ---------------------------------------------------------------- splitting a long section


def _split_blocks(blocks: Sequence[Block], limit: int, overlap: int = 0) -> list[Block]:
    """Pack blocks greedily into pieces of at most `limit` characters.

    A block that fits is never cut. A longer one is cut at the last good boundary: between paragraphs, then lines (in
    code, lists and tables) or sentences (in prose), then words, then anywhere. Each part of a long table has its header
    rows. Each piece but the first begins with the last `overlap` characters of the one before.
    """
    if overlap and sum(len(block.text) + 2 for block in blocks) > limit + 2:
        return _overlapping(_split_blocks(blocks, limit - overlap - 2), overlap)
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


def _overlapping(pieces: list[Block], overlap: int) -> list[Block]:
    """Pieces that begin with the end of the one before, except those that begin with the header rows of a table."""
    longer = [
        piece if table_header(piece.text) else replace(piece, text=_tail(before.text, overlap) + piece.text)
        for before, piece in pairwise(pieces)
    ]
    return [*pieces[:1], *longer]


def _tail(text: str, length: int) -> str:
    """The end of a text from a line or word on, with a blank line after it; empty if there is no such place."""
    if len(text) > length:
        text = text[-length:]
        start = text.find("\n") + 1 or text.find(" ") + 1
        text = text[start:] if start else ""
    return f"{text}\n\n" if text.strip() else ""


def _joined(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    return Block("\n\n".join(part.text for part in parts), joined([part.place for part in parts]))


def _even_out(packed: list[list[Block]], limit: int) -> None:
    """Move the last part of the second last piece to a short last piece, if enough remains."""
    if len(packed) < 2 or len(packed[-2]) < 2:
        return
    last = sum(len(part.text) + 2 for part in packed[-1])
    moved = len(packed[-2][-1].text)
    remaining = sum(len(part.text) + 2 for part in packed[-2][:-1])
    if last < limit // 8 and last + moved <= limit and remaining >= last + moved:
        packed[-1].insert(0, packed[-2].pop())


def _cut(block: Block, limit: int, room: int) -> Iterator[Block]:
    """Parts of a block that is too long; the first fills the current piece, if more than half a limit is free."""
    text, start, (line, last) = block.text, 0, block.place.lines or (0, 0)
    header = table_header(text)
    header = f"{header}\n" if 0 < len(header) < limit // 2 else ""  # a longer one would leave no room for rows
    laid_out = bool(header) or bool(_LAID_OUT.match(text))
    size = room if room > limit // 2 else limit
    while start < len(text):
        left = len(text) - start
        if start and header:
            size -= len(header)
        if limit < left < limit + limit // 4:
            size = min(size, left // 2 + limit // 8)  # avoids a tiny last part
        end = len(text) if left <= size else start + _cut_position(text[start : start + size], laid_out)
        after = min(line + text.count("\n", start, end), last)
        part = text[start:end].strip("\n" if laid_out else None)
        if part.strip():
            lines = (line, max(line, after - (text[end - 1] == "\n"))) if line else None
            yield Block(header + part if start else part, replace(block.place, lines=lines))
        start, line, size = end, after, limit


def _cut_position(window: str, laid_out: bool) -> int:
    """Position at which to cut a window; in its first half only as a last resort."""
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
