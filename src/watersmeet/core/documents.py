"""The nouns of index time: what is written in a document. Frozen, standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from watersmeet.core.model import ChunkId, DocId, Fields
from watersmeet.core.place import NOWHERE, Place


@dataclass(frozen=True, slots=True)
class Link:
    """An edge as it was written: `target` is a note's name, a path or a URL."""

    target: str
    type: str = "wiki"  # wiki, embed, markdown or related
    heading: str = ""
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table, fence: text that is kept in one piece where it fits."""

    text: str
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True)
class Section:
    """A heading path, and what stands under it before the next heading.

    `place` is that of the heading. A block without a page, slide, sheet or anchor of its own has that of its section.
    """

    headings: tuple[str, ...]
    level: int
    place: Place = NOWHERE
    blocks: tuple[Block, ...] = ()

    @property
    def line(self) -> int | None:
        return self.place.lines[0] if self.place.lines else None


CREATED = "@created"
"""The field under which a catalogue keeps when a document was begun."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a source found and a parser understood. `path` is where to open it."""

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
    """One answerable piece of a document."""

    id: ChunkId
    document: DocId
    text: str
    headings: tuple[str, ...] = ()
    place: Place = NOWHERE
