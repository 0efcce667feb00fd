"""A parser for tests of files that have pages, slides, sheets or anchors.

A line `@page 3`, `@slide 4`, `@sheet Budget` or `@anchor install` says where the paragraphs below it stand, `# Heading`
begins a section there. Text has the lines of the file, below `@nolines` none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.model import DocId
from watersmeet.core.place import NOWHERE, Place


@dataclass(frozen=True, slots=True)
class Placed:
    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        spot, counted = NOWHERE, True
        sections = [Section((), 0)]
        for number, line in enumerate(content.decode().splitlines(), 1):
            kind, _, name = line.partition(" ")
            lines = (number, number) if counted else None
            if kind in ("@page", "@slide"):
                spot = Place(**{f"{kind[1:]}s": (int(name), int(name))})
            elif kind in ("@sheet", "@anchor"):
                spot = Place(**{kind[1:]: name})
            elif kind == "@nolines":
                counted = False
            elif kind == "#":
                sections.append(Section((name,), 1, replace(spot, lines=lines)))
            elif line:
                block = Block(line, replace(spot, lines=lines))
                sections[-1] = replace(sections[-1], blocks=(*sections[-1].blocks, block))
        kept = tuple(section for section in sections if section.level or section.blocks)
        yield Document(DocId(found.name), "document", found.name, found.uri, kept)
