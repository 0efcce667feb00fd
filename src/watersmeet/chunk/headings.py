"""A chunk is a section: its heading path and what stands under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from watersmeet.chunk._tree import Node, tree
from watersmeet.core.documents import Block, Chunk, Document
from watersmeet.core.errors import ConfigError
from watersmeet.core.ids import chunk_id
from watersmeet.core.options import option
from watersmeet.core.place import Place, joined

_LEAST_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Headings:
    """Splits a document at its headings; long sections at their paragraphs; small ones join their parent.

    A section below `min_chars` joins the text of the section above it, if it comes right after that and
    there is room; it keeps its heading as a line of the text. Elsewhere it stands alone: siblings never
    share a chunk but in their parent's. The chunk has the path of its first section.

    An id depends on the document, that path and the position among chunks of the same path. What joins
    another has no id of its own, and what has one keeps it: so inserting a section changes no other id.
    """

    form: ClassVar[int] = 2
    """Another number: documents come apart elsewhere, or ids are others, than before."""

    max_chars: int = option(1600, "no chunk is longer than this, in characters")
    min_chars: int = option(200, "a section shorter than this joins its parent's text")

    def __post_init__(self) -> None:
        if self.max_chars < _LEAST_LIMIT:
            raise ConfigError(f"chunk.headings.max_chars is {self.max_chars}", f"use {_LEAST_LIMIT} or more")
        if not 0 <= self.min_chars <= self.max_chars:
            raise ConfigError(f"chunk.headings.min_chars is {self.min_chars}", f"use 0 to max_chars ({self.max_chars})")

    def split(self, document: Document) -> list[Chunk]:
        chunks: list[Chunk] = []
        count: dict[tuple[str, ...], int] = {}
        for group in _groups(tree(document.sections, self.min_chars, self.max_chars), self.max_chars):
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
    """Sections that share a chunk: a leader, of any size, and small ones."""

    __slots__ = ("inside", "leader", "length", "parts")

    def __init__(self, leader: Node, part: Block | None) -> None:
        self.leader = leader
        self.parts: list[tuple[Node, Block | None]] = [(leader, part)]
        self.length = leader.cost
        self.inside = {leader.index}

    def add(self, node: Node) -> None:
        self.parts.append((node, node.pieces[0] if node.pieces else None))
        self.length += node.cost
        self.inside.add(node.index)

    def takes(self, node: Node, limit: int) -> bool:
        """May this section join?"""
        return node.small and node.parent in self.inside and self.length + node.cost <= limit + 2

    def close(self) -> _Group:
        """Leave out headings at the end whose text is all in later chunks."""
        while self.parts[-1][0].hollow:
            self.parts.pop()
        return self

    def text(self) -> str:
        """The parts, each under its heading but for the first, whose heading is in the path of the chunk."""
        lines: list[str] = []
        for position, (node, part) in enumerate(self.parts):
            if position:
                lines.append(node.heading)
            if part:
                lines.append(part.text)
        return "\n\n".join(lines)

    def place(self) -> Place:
        """From the leader's heading, if its text begins here, to the end of the last part."""
        leader, part = self.parts[0]
        begins = leader.section.level and part and part is leader.pieces[0]
        heading = [leader.section.place] if begins else []
        return joined([*heading, *(part.place if part else node.section.place for node, part in self.parts)])


def _groups(nodes: list[Node], limit: int) -> Iterator[_Group]:
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
