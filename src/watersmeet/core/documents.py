"""Data classes of indexing: documents, sections, blocks, links and chunks. Frozen, standard library only."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, DocId, Fields
from watersmeet.core.place import NOWHERE, Place


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written in a document: `target` is a note's name, a path or a URL."""

    target: str
    type: str = "wiki"  # wiki, embed, markdown or related
    heading: str = ""
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table or code fence: not split if it fits into a chunk."""

    text: str
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True)
class Section:
    """A heading path and the blocks under it, up to the next heading.

    `place` is that of the heading. A block without a page, slide, sheet or anchor of its own inherits its section's.
    """

    headings: tuple[str, ...]
    level: int
    place: Place = NOWHERE
    blocks: tuple[Block, ...] = ()

    @property
    def line(self) -> int | None:
        return self.place.lines[0] if self.place.lines else None


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document. `path` is where to open it."""

    id: DocId
    kind: str
    title: str
    path: str
    sections: tuple[Section, ...] = ()
    modified: datetime | None = None
    created: datetime | None = None
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    fields: Fields = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is indexed and returned as one result."""

    id: ChunkId
    document: DocId
    text: str
    headings: tuple[str, ...] = ()
    place: Place = NOWHERE
