"""A chunk is a section: its heading path and what stands under it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

from watersmeet.chunk._pieces import pieces
from watersmeet.chunk._tree import Node, tree
from watersmeet.core.errors import ConfigError
from watersmeet.core.ids import chunk_id
from watersmeet.core.model import Block, Chunk, Document, Section
from watersmeet.core.options import option

_LEAST_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Headings:
    """Splits a document at its headings; long sections at their paragraphs; small ones join a neighbour.

    Only sections below `min_chars` ever share a chunk with another: a small one joins the text of its
    parent or the sibling before it, or else the section after it. Whatever is joined keeps its heading as
    a line of the text. The chunk is named by its full-sized section; if all are small, by the first, or,
    where each leads to its only small child, by the last of that line.

    An id depends on the document, the heading path and the position among chunks of the same path. So
    inserting a section of at least `min_chars` changes no other id, but for a chunk of small sections at
    that very place, which may join it.
    """

    max_chars: int = option(1600, "no chunk is longer than this, in characters")
    min_chars: int = option(200, "a section shorter than this joins a neighbour under the same parent")

    def __post_init__(self) -> None:
        if self.max_chars < _LEAST_LIMIT:
            raise ConfigError(f"chunk.headings.max_chars is {self.max_chars}", f"use {_LEAST_LIMIT} or more")
        if not 0 <= self.min_chars <= self.max_chars:
            raise ConfigError(
                f"chunk.headings.min_chars is {self.min_chars}", f"use 0 to max_chars ({self.max_chars})"
            )

    def split(self, document: Document) -> list[Chunk]:
        sections = _without_bare_comments(document.sections)
        cut = [pieces(section.blocks, self.max_chars) for section in sections]
        chunks: list[Chunk] = []
        count: dict[tuple[str, ...], int] = {}
        for group in _groups(tree(sections, cut, self.min_chars), self.min_chars, self.max_chars):
            headings = group.name()
            text = group.text(headings) or (headings[-1] if headings else "") or document.title
            ordinal = count[headings] = count.get(headings, -1) + 1
            id_ = chunk_id(document.id, headings, ordinal)
            chunks.append(Chunk(id_, document.id, text[: self.max_chars], headings, group.lines()))
        if not chunks:
            title = document.title[: self.max_chars]
            chunks.append(Chunk(chunk_id(document.id, (), 0), document.id, title, (), (1, 1)))
        return chunks


class _Group:
    """Sections that share a chunk; `anchor` is the one among them that is not small."""

    __slots__ = ("anchor", "inside", "leader", "length", "parts")

    def __init__(self, node: Node, part: Block | None) -> None:
        self.parts: list[tuple[Node, Block | None]] = []
        self.length = 0
        self.leader = node
        self.inside: set[int] = set()
        self.anchor: Node | None = None
        self.add(node, part)

    def add(self, node: Node, part: Block | None) -> None:
        self.parts.append((node, part))
        self.length += node.cost(part)
        self.inside.add(node.index)
        if not node.small:
            self.anchor = node

    def takes(self, node: Node, nodes: list[Node], limit: int) -> bool:
        """May this small section follow these small ones in their chunk?"""
        if self.anchor is not None or self.length + node.cost(node.pieces[0] if node.pieces else None) > limit + 2:
            return False
        if nodes[node.parent].below > limit and node.parts_siblings:
            return False
        return node.parent in self.inside or (node.parent == self.leader.parent and not node.children)

    def opens(self, node: Node, least: int, limit: int) -> bool:
        """May these small sections be the beginning of this full-sized one?"""
        if self.anchor is not None or self.length + node.cost(node.pieces[0] if node.pieces else None) > limit + 2:
            return False
        if node.parent == self.leader.parent:
            return True
        return node.parent in self.inside and self.length < least

    def absorbs(self, run: _Group, nodes: list[Node], limit: int) -> bool:
        """May these small sections be the end of this full-sized one, or of what it is the last part of?"""
        if self.anchor is None or self.length + run.length > limit + 2:
            return False
        at = self.anchor
        while at.index > run.leader.parent:
            at = nodes[at.parent]
        return at.index == run.leader.parent

    def close(self) -> bool:
        """Leave out headings whose text is all in later chunks, for those carry them in their path; is any left?"""
        while self.parts and _hollow(*self.parts[-1]):
            self.parts.pop()
        return bool(self.parts)

    def name(self) -> tuple[str, ...]:
        """Its heading path. Headings on the way there that have no text of their own are left to it."""
        node = self.anchor or self.parts[0][0]
        if self.anchor is None:
            for child, _ in self.parts[1:]:
                if child.parent != node.index or node.small_children > 1:
                    break
                node = child
        headings = node.section.headings
        while _hollow(*self.parts[0]) and (len(self.parts[0][0].section.headings) < max(len(headings), 1)):
            del self.parts[0]
        return headings

    def text(self, headings: tuple[str, ...]) -> str:
        """The parts, each under its heading, but for the first where the path of the chunk says it."""
        lines: list[str] = []
        for position, (node, part) in enumerate(self.parts):
            path = node.section.headings
            if path and (position or headings[: len(path)] != path):
                lines.append(node.heading)
            if part:
                lines.append(part.text)
        return "\n\n".join(lines)

    def lines(self) -> tuple[int, int]:
        first, part = self.parts[0]
        start = part.first if part else first.section.line
        if first.pieces and part is first.pieces[0] and first.section.level:
            start = min(start, first.section.line)
        last, part = self.parts[-1]
        return start, max(start, part.last if part else last.section.line)


def _hollow(node: Node, part: Block | None) -> bool:
    return part is None and (node.children > 0 or not node.section.level)


def _groups(nodes: list[Node], least: int, limit: int) -> list[_Group]:
    groups: list[_Group] = []
    run: _Group | None = None  # small sections, of which it is not yet known where they belong

    def settle(after: Node | None) -> None:
        if run is None or not run.close():
            return
        whole = after is None or after.parent not in run.inside
        if whole and groups and groups[-1].absorbs(run, nodes, limit):
            for node, part in run.parts:
                groups[-1].add(node, part)
        else:
            groups.append(run)

    for node in nodes:
        part = node.pieces[0] if node.pieces else None
        if node.small:
            if run is not None and run.takes(node, nodes, limit):
                run.add(node, part)
            else:
                settle(node)
                run = _Group(node, part)
            continue
        if run is not None and run.opens(node, least, limit):
            run.add(node, part)
            groups.append(run)
        else:
            settle(node)
            groups.append(_Group(node, part))
        groups += (_Group(node, piece) for piece in node.pieces[1:])
        run = None
    settle(None)
    return groups


def _without_bare_comments(sections: tuple[Section, ...]) -> list[Section]:
    """A section that opens with nothing but `<!-- comments -->` before its first child hands them to that."""
    kept: list[Section] = []
    carried: tuple[Block, ...] = ()
    for section, after in zip_longest(sections, sections[1:]):
        blocks = carried + section.blocks
        opens = after is not None and after.level > section.level
        carried = blocks if opens and all(_is_comment(block.text) for block in blocks) else ()
        if carried or blocks is not section.blocks:
            section = replace(section, blocks=() if carried else blocks)
        if section.level or section.blocks:
            kept.append(section)
    return kept


def _is_comment(text: str) -> bool:
    text = text.strip()
    return text.startswith("<!--") and text.find("-->") == len(text) - 3
