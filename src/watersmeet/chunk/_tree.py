"""Which sections are too small to stand alone, and how far may one reach for its neighbours?

All decisions rest on sums over small sections. Those sums do not change when a section of ordinary size
is inserted anywhere, so neither do the decisions, nor the ids that follow from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from watersmeet.core.model import Block, Section

ROOT = -1


@dataclass(slots=True)
class Node:
    """A section in its place: `cost` is what its last piece and its heading line take up in a chunk."""

    index: int
    section: Section
    parent: int
    pieces: list[Block]
    small: bool
    cost: int
    children: int = 0
    small_children: int = 0
    below: int = 0  # what all small sections under it take up together

    @property
    def first_cost(self) -> int:
        """What its heading line and its first piece take up in a chunk that begins with something else."""
        return len(self.heading) + 2 + len(self.pieces[0].text) + 2

    @property
    def heading(self) -> str:
        """The line that names this section inside another's chunk."""
        return "#" * self.section.level + " " + self.section.headings[-1] if self.section.level else ""

    @property
    def starts_group(self) -> bool:
        """Among too many small siblings one in three, by its name, begins a chunk, whatever stands before it."""
        return crc32("\0".join(self.section.headings).encode("utf-8", "surrogatepass")) % 3 == 0


class Tree:
    def __init__(
        self, sections: Sequence[Section], cut: Sequence[list[Block]], least: int, limit: int
    ) -> None:
        self.nodes: list[Node] = []
        self.least = least
        self.limit = limit
        open_: list[Node] = []
        for index, (section, pieces) in enumerate(zip(sections, cut, strict=True)):
            while open_ and open_[-1].section.level >= section.level:
                open_.pop()
            small = not pieces or (len(pieces) == 1 and len(pieces[0].text) < least)
            text = len(pieces[-1].text) + 2 if pieces else 0
            heading = section.level + 3 + len(section.headings[-1]) if section.level else 0
            parent = open_[-1].index if open_ else ROOT
            node = Node(index, section, parent, pieces, small, text + heading)
            self.nodes.append(node)
            open_.append(node)
        self.top = self._sum()

    def _sum(self) -> int:
        top = 0
        for node in reversed(self.nodes):
            whole = node.cost + node.below if node.small else 0
            if node.parent == ROOT:
                top += whole
                continue
            parent = self.nodes[node.parent]
            parent.below += whole
            parent.children += 1
            parent.small_children += node.small
        return top

    def around(self, node: Node) -> int:
        """What the small sections beside it, and it if small, take up together."""
        return self.top if node.parent == ROOT else self.nodes[node.parent].below

    def reach(self, node: Node) -> int:
        """2: all small sections beside it and below it fit with it; 1: only those below; 0: not even those."""
        below = node.cost + node.below
        beside = self.around(node) if node.small else below + self._opening(node)
        return 2 if beside <= self.limit else int(below <= self.limit)

    def _opening(self, node: Node) -> int:
        """What small sections beside it, and above it if it may begin with its parent's text, take up."""
        top = node
        while len(node.pieces) == 1 and top.parent != ROOT and self.nodes[top.parent].small:
            top = self.nodes[top.parent]
        return self.around(top)
