"""A chunk is a section: its heading path and what stands under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from watersmeet.chunk._pieces import pieces
from watersmeet.chunk._tree import Node, Tree
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
        tree = Tree(sections, cut, self.min_chars, self.max_chars)
        chunks: list[Chunk] = []
        count: dict[tuple[str, ...], int] = {}
        for group in _groups(tree):
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
    """Sections that share a chunk. `parts` is what each contributes: a whole section or a piece of one."""

    __slots__ = ("anchor", "inside", "leader", "length", "parts", "reach")

    def __init__(self, node: Node, part: Block | None, reach: int) -> None:
        self.parts: list[tuple[Node, Block | None]] = [(node, part)]
        self.length = node.cost if node.small or part is None else len(part.text) + 2
        self.anchor = None if node.small else node
        self._lead(node, reach)

    def _lead(self, node: Node, reach: int) -> None:
        self.leader, self.reach, self.inside = node, reach, {node.index}

    def add(self, node: Node) -> None:
        """A small section joins."""
        self.parts.append((node, node.pieces[0] if node.pieces else None))
        self.length += node.cost
        self.inside.add(node.index)

    def lead_into(self, node: Node, reach: int) -> None:
        """What was only an opening so far gets its first full-sized section."""
        self.parts.append((node, node.pieces[0]))
        self.length += node.first_cost
        self.anchor = node
        self._lead(node, reach)

    def takes(self, node: Node, tree: Tree) -> bool:
        """May this small section join, and does it fit?"""
        if self.length + node.cost > tree.limit + 2:
            return False
        if node.parent in self.inside:
            return self.reach > 0
        if node.parent != self.leader.parent or node.children:
            return False
        if self.reach == 2:
            return True
        crowded = self.leader.small and tree.around(self.leader) > tree.limit
        return crowded and not node.starts_group

    def opens(self, node: Node, tree: Tree) -> bool:
        """Is it too little by itself, and may it be the beginning of this full-sized section?"""
        if self.anchor is not None or self.length >= tree.least or not any(part for _, part in self.parts):
            return False
        if node.parent not in self.inside and node.parent != self.leader.parent:
            return False
        rest_fits = tree.reach(node) == 2 or not node.below or len(node.pieces) > 1
        return rest_fits and self.length + node.first_cost <= tree.limit + 2

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
        while _hollow(*self.parts[0]) and len(self.parts[0][0].section.headings) < len(headings):
            del self.parts[0]
        return headings

    def text(self, headings: tuple[str, ...]) -> str:
        """The parts, each under its heading, but for the first where the path of the chunk says it."""
        lines: list[str] = []
        for position, (node, part) in enumerate(self.parts):
            path = node.section.headings
            if position or headings[: len(path)] != path:
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
    return part is None and node.children > 0


def _groups(tree: Tree) -> Iterator[_Group]:
    group: _Group | None = None
    for node in tree.nodes:
        if node.small and group is not None and group.takes(node, tree):
            group.add(node)
            continue
        if not node.small and group is not None and group.opens(node, tree):
            group.lead_into(node, tree.reach(node))
        else:
            if group is not None and group.close():
                yield group
            group = _Group(node, node.pieces[0] if node.pieces else None, tree.reach(node))
        for piece in node.pieces[1:]:
            yield group
            group = _Group(node, piece, tree.reach(node))
    if group is not None and group.close():
        yield group


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
