"""The nouns of index time: what is written in a document. Frozen, standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from watersmeet.core.model import ChunkId, DocId, Fields


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
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Section:
    """A heading path, and what stands under it before the next heading."""

    headings: tuple[str, ...]
    level: int
    line: int
    blocks: tuple[Block, ...] = ()


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
    """One answerable piece of a document; `lines` are 1-based and inclusive."""

    id: ChunkId
    document: DocId
    text: str
    headings: tuple[str, ...] = ()
    lines: tuple[int, int] = (1, 1)
