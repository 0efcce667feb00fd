"""Where does each section stand, and is it large enough to stand alone?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from watersmeet.chunk._pieces import pieces
from watersmeet.core.documents import Block, Section
from watersmeet.core.place import joined


@dataclass(slots=True)
class Node:
    """A section in its place, with its text in pieces that fit into a chunk."""

    index: int
    section: Section
    parent: int
    pieces: list[Block]
    small: bool
    children: int = 0

    @property
    def heading(self) -> str:
        """The line that names this section inside another's chunk."""
        return "#" * self.section.level + " " + self.section.headings[-1] if self.section.level else ""

    @property
    def cost(self) -> int:
        """What its heading and the last piece of its text take up in a chunk."""
        heading = self.section.level + 3 + len(self.section.headings[-1]) if self.section.level else 0
        return heading + (len(self.pieces[-1].text) + 2 if self.pieces else 0)

    @property
    def hollow(self) -> bool:
        """Nothing but a heading, which the sections below carry in their path."""
        return not self.pieces and self.children > 0


def tree(sections: Sequence[Section], least: int, limit: int) -> list[Node]:
    """The sections in order, each knowing its parent; first of all the document itself."""
    root = Node(0, Section((), -1), -1, [], small=True)
    nodes, open_ = [root], [root]
    for section in sections:
        while open_[-1].section.level >= section.level:
            open_.pop()
        cut = pieces(_placed(section), limit)
        small = not cut or (len(cut) == 1 and len(cut[0].text) < least)
        node = Node(len(nodes), section, open_[-1].index, cut, small)
        nodes.append(node)
        open_.append(node)
    for node in reversed(nodes[1:]):
        nodes[node.parent].children += 1
    _pass_comments_on(nodes, limit)
    return nodes


def _placed(section: Section) -> Sequence[Block]:
    """Its blocks, on its page, slide or sheet, or at its anchor, where they say nothing else."""
    if not section.place.has_spot:
        return section.blocks
    return [replace(block, place=block.place.within(section.place)) for block in section.blocks]


def _pass_comments_on(nodes: list[Node], limit: int) -> None:
    """Where a section opens with nothing but `<!-- a comment -->`, that goes to the section below it."""
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
