"""Where does each section stand, and is it large enough to stand alone?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from watersmeet.core.model import Block, Section


@dataclass(slots=True)
class Node:
    """A section in its place."""

    index: int
    section: Section
    parent: int
    pieces: list[Block]
    small: bool
    children: int = 0
    small_children: int = 0
    below: int = 0  # what all small sections under it take up together

    @property
    def heading(self) -> str:
        """The line that names this section inside another's chunk."""
        return "#" * self.section.level + " " + self.section.headings[-1] if self.section.level else ""

    def cost(self, piece: Block | None) -> int:
        """What its heading and one piece of its text take up in a chunk."""
        heading = self.section.level + 3 + len(self.section.headings[-1]) if self.section.level else 0
        return heading + (len(piece.text) + 2 if piece else 0)

    @property
    def parts_siblings(self) -> bool:
        """Among too many small siblings one in three, by its name, begins a chunk, whatever stands before it."""
        return crc32("\0".join(self.section.headings).encode("utf-8", "surrogatepass")) % 3 == 0


def is_comment(text: str) -> bool:
    """Is this block nothing but `<!-- a comment -->`?"""
    text = text.strip()
    return text.startswith("<!--") and text.find("-->") == len(text) - 3


def tree(sections: Sequence[Section], cut: Sequence[list[Block]], least: int) -> list[Node]:
    """The sections in order, each knowing its parent; first of all the document itself, from level 0."""
    root = Node(0, Section((), 0, 1), -1, [], small=True)
    nodes, open_ = [root], [root]
    for section, pieces in zip(sections, cut, strict=True):
        while len(open_) > 1 and open_[-1].section.level >= section.level:
            open_.pop()
        written = sum(len(block.text) for block in section.blocks if not is_comment(block.text))
        small = len(pieces) < 2 and written < least
        node = Node(len(nodes), section, open_[-1].index, pieces, small)
        nodes.append(node)
        open_.append(node)
    for node in reversed(nodes[1:]):
        parent = nodes[node.parent]
        parent.children += 1
        if node.small:
            parent.small_children += 1
            parent.below += node.cost(node.pieces[0] if node.pieces else None) + node.below
    return nodes
