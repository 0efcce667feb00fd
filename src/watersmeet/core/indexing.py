"""The verbs of index time: from a place to what a text store keeps. Few methods each."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, ClassVar, Protocol, runtime_checkable

from watersmeet.core.documents import Chunk, Document
from watersmeet.core.model import Row

BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceRoot:
    """What is synced: the kind of source, the address, and where that source said to go on (`Whole.cursor`)."""

    kind: str
    uri: str
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Something to read that a source offers. `stamp` changes whenever the content may have changed."""

    name: str  # below the source's root, with slashes: the id of a page, behind the root's prefix
    uri: str  # where to open it
    stamp: str  # opaque, and not empty
    modified: datetime | None = None  # as far as the source knows without reading it
    media: str = ""  # a media type, or an ending with its dot; empty: the ending of its name
    sure: bool = False  # an equal stamp proves that it is unchanged; else `modified` must lie behind the last reading


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was passed over, and why."""

    path: str
    reason: str
    closed: bool = field(default=False, compare=False)
    """Whether it could not be looked into: what lies below may be there all the same."""


@dataclass(frozen=True, slots=True)
class Same:
    """What is called so is as it was when its stamp was taken."""

    name: str


@dataclass(frozen=True, slots=True)
class Gone:
    """What was called so is there no more."""

    name: str


@dataclass(frozen=True, slots=True)
class Whole:
    """The end of a scan that came upon all that there is: what it did not name is gone.

    `cursor` is handed to the next scan, once all that was found is committed.
    """

    cursor: str = ""


Offer = Found | Skipped | Same | Gone | Whole


@dataclass(frozen=True, slots=True)
class Located:
    """What a source says of an address before anything is read from it."""

    uri: str  # the spelling under which it is kept
    name: str  # what it is called
    exists: bool = True
    only: Found | Skipped | None = None  # the one thing that it is; None: a place of many
    spellings: tuple[str, ...] = ()  # under which it may be kept besides


@dataclass(frozen=True, slots=True)
class Content:
    """What was found, to be read as often as need be. It is never held as a whole unless `whole` is called."""

    stream: BinaryIO

    @classmethod
    def of(cls, content: bytes) -> Content:
        return cls(io.BytesIO(content))

    def size(self) -> int:
        return self.stream.seek(0, io.SEEK_END)

    def blocks(self) -> Iterator[bytes]:
        self.stream.seek(0)
        while block := self.stream.read(BLOCK):
            yield block

    def whole(self) -> bytes:
        self.stream.seek(0)
        return self.stream.read()


class Dating(Protocol):
    """When things last changed, by other means than what is written in them."""

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        """`by` is `git`, the commit that left it as it is, or `mtime`, the date that it carries."""
        ...


class CarriedDates:
    """The dates that things carry."""

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        return found.modified if by == "mtime" else None


class Source(Protocol):
    """Where documents come from. Inherit from it: what a source does not say of itself is as it stands here.

    `scan` only looks; `read` fetches, or says why it cannot.
    """

    schemes: ClassVar[tuple[str, ...]] = ()
    """How the addresses begin that it takes, such as `https:`; without any, paths, if `index.source` names it."""
    slow: ClassVar[bool] = False
    """Whether looking and reading take long enough to be done before the index is locked."""

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        """What there is. `known` are the stamps of what was read before, by name.

        Something is deleted only if `Whole` is said in the end, or `Gone` of it.
        """
        ...

    def read(self, found: Found) -> bytes | Skipped: ...

    def open(self, found: Found) -> BinaryIO | Skipped:
        """The same as a stream that can be read more than once: for parsers that need not hold all of it."""
        content = self.read(found)
        return content if isinstance(content, Skipped) else io.BytesIO(content)

    def dating(self, found: Collection[Found]) -> Dating:
        """What dates these things, all of which are going to be read."""
        return CarriedDates()

    def locate(self, uri: str) -> Located:
        """Raises `SourceProblem` if this can be no address."""
        return Located(uri, uri.rstrip("/").rpartition("/" if "/" in uri else ":")[2])

    def within(self, uri: str, place: str) -> bool:
        """Whether it is this place, or a part of it that can be scanned by itself."""
        return uri == place

    def holds(self, place: str, name: str) -> bool:
        """Whether something of that name is there, be it found by a scan or not."""
        return False


class Parser(Protocol):
    """What is written in a file. A file may hold many documents; bad parts become `Skipped`.

    `reads`: media types, and endings with their dot, in small letters.
    """

    reads: ClassVar[tuple[str, ...]]

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]: ...


@runtime_checkable
class StreamParser(Protocol):
    """A parser that need not hold a file to read it."""

    def parse_stream(self, found: Found, stream: BinaryIO) -> Iterator[Document | Skipped]: ...


class Chunker(Protocol):
    def split(self, document: Document) -> Sequence[Chunk]: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk as a text store sees it: words per field, already tokenised and joined by spaces."""

    row: Row
    fields: Mapping[str, str]


class TextWriter(Protocol):
    """Appends and deletes; nothing is visible or durable before `commit`, which syncs to disk."""

    def add(self, entries: Iterable[Entry]) -> None: ...
    def drop(self, rows: Iterable[Row]) -> None: ...
    def commit(self) -> None: ...
    def pieces(self, new: int) -> int:
        """In how many commits so many last entries had better be written, for the store to join what it holds."""
        ...

    def analyse(self, field: str, text: str) -> str:
        """The term that stands for a word in the store; empty if none does."""
        ...

    def row_count(self) -> int:
        """How many rows scores are computed from, dead ones and those that were dropped but still count among them."""
        ...

    def close(self) -> None: ...
