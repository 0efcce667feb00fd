"""Protocols of indexing: source, parser, chunker, text writer. Few methods each."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Protocol, runtime_checkable

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Row
from watersmeet.core.options import option

if TYPE_CHECKING:
    from watersmeet.core.documents import Chunk, Document

BLOCK = 1 << 20
NAME_ONLY = "application/octet-stream"
"""Media type of a file that is indexed by its name only."""


@dataclass(frozen=True, slots=True)
class SourceRoot:
    """A root to sync: the kind of source, its address, and the cursor of its last scan (`Whole.cursor`)."""

    kind: str
    uri: str
    cursor: str = ""
    limit: int = 0  # most items to offer; 0: as the source's settings say
    reread: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Stamps of the items in the index, if all of them are to be read again: `known` is empty then. For a source that
    says of each item whether it still exists."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file or other item that a source offers for reading. `stamp` changes whenever the content may have changed."""

    name: str  # path below the source's root, with slashes; with the root's prefix it is the document's id
    uri: str  # where to open it
    stamp: str  # opaque, not empty
    modified: datetime | None = None  # as far as the source knows without reading it
    media: str = ""  # a media type, or an ending with its dot; empty: the ending of its name
    sure: bool = False  # an equal stamp proves that it is unchanged; else `modified` must be before the last reading
    fields: tuple[tuple[str, str], ...] = ()  # fields for all documents of the item, such as the version of its package


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that was not read, and the reason."""

    path: str
    reason: str
    closed: bool = field(default=False, compare=False)
    """Whether a folder could not be listed: items below it may still exist."""


@dataclass(frozen=True, slots=True)
class Same:
    """The item of this name is unchanged since its stamp was taken. A new stamp, if there is one, replaces it."""

    name: str
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """The item of this name no longer exists."""

    name: str


@dataclass(frozen=True, slots=True)
class Whole:
    """The end of a complete scan: items that it did not report are deleted.

    `cursor` is passed to the next scan, once everything found is committed.
    """

    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """The end of a scan at a limit that the user has set: it counts as a reading, and deletes nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a scan for the report, such as the way that it took."""

    text: str


@dataclass(frozen=True, slots=True)
class Pending:
    """The number of items that a scan has still to look at, as far as it is known, for progress."""

    count: int


Offer = Found | Skipped | Same | Gone | Whole | Cut | Note | Pending

FetchProgress = Callable[[str, int, int], None]
"""Called with what a source is doing, how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Located:
    """An address as resolved by a source, before anything is read from it."""

    uri: str  # canonical spelling, as stored
    name: str  # name for display
    exists: bool = True
    only: Found | Skipped | None = None  # the single item at the address; None: a container of many
    spellings: tuple[str, ...] = ()  # other spellings under which it may be stored
    collection: str = ""  # name of the collection of a new root, unless one is given; empty: the default one


@dataclass(frozen=True, slots=True)
class Content:
    """Content of an item, which can be read several times. It is loaded into memory only by `whole`."""

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
    """Modification dates that are not taken from the content."""

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        """`by` is `git`, the date of its last commit, or `mtime`, the date that the source reports."""
        ...


class CarriedDates:
    """Dates as reported by the source."""

    def of(self, found: Found, content: Content, by: str) -> datetime | None:
        return found.modified if by == "mtime" else None


class Source(Protocol):
    """A source of documents. Inherit from it: everything but `scan` and `read` has a default.

    `scan` only lists; `read` returns the content, or the reason why it cannot.
    """

    schemes: ClassVar[tuple[str, ...]] = ()
    """URL schemes that it handles, such as `https:`. If empty, it handles paths, if `index.source` names it."""
    slow: ClassVar[bool] = False
    """Whether scanning and reading are slow and therefore done before the index is locked."""
    watchable: ClassVar[bool] = False
    """Whether its addresses are paths that the system reports changes of: `scan_part` and `concerned` are for them."""
    unit: ClassVar[str] = "files"
    """What its items are called in the progress of a sync."""

    def is_remote(self, uri: str) -> bool:
        """Whether a network is needed to read an address. A sync that does not name it reads it only if it is old."""
        return self.slow

    def prepare(self, root: SourceRoot, progress: FetchProgress) -> None:
        """Fetch what is elsewhere, before the index is locked: for a source that keeps a copy of its own to scan.

        If it raises `SourceProblem`, the root is not scanned, and nothing of it is deleted.
        """
        return

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        """List the items. `known` has the stamps of the items read before, by name.

        An item is deleted only if the scan ends with `Whole` without it, or yields `Gone` for it.
        """
        ...

    def read(self, found: Found) -> bytes | Skipped: ...

    def open(self, found: Found) -> BinaryIO | Skipped:
        """The content as a seekable stream, for parsers that do not load all of it."""
        content = self.read(found)
        return content if isinstance(content, Skipped) else io.BytesIO(content)

    def dating(self, found: Collection[Found]) -> Dating:
        """Dates for these items, all of which will be read."""
        return CarriedDates()

    def locate(self, uri: str) -> Located:
        """Resolve an address; `SourceProblem` if it is not valid."""
        return Located(uri, uri.rstrip("/").rpartition("/" if "/" in uri else ":")[2])

    def within(self, uri: str, place: str) -> bool:
        """Whether an address is this place, or a part of it that can be scanned separately."""
        return uri == place

    def supersedes(self, uri: str, place: str) -> bool:
        """Whether an address is that of a root with other limits, which the root is to have from now on."""
        return False

    def holds(self, place: str, name: str) -> bool:
        """Whether an item of that name exists, even if scans leave it out."""
        return False

    def scan_part(self, root: SourceRoot, part: str, known: Mapping[str, str]) -> Iterator[Offer]:
        """List what a scan of the whole root would list in one folder of it (`part`, with a slash at the end). Names
        are below the root; `Whole` means all of that folder."""
        for item in self.scan(root, known):
            if not isinstance(item, Found | Same | Gone) or item.name.startswith(part):
                yield item

    def concerned(self, uri: str, paths: Collection[str]) -> list[str]:
        """Those of these paths, in a root, whose change may change what a scan finds: not those that are left out."""
        return [*paths]

    def count_changes(
        self, uri: str, known: Mapping[str, str], unread: Collection[str], others: Collection[str], seconds: float
    ) -> int | None:
        """How many items were added, changed or deleted since the stamps in `known` were taken; None if it takes more
        than this many seconds of processor time, or cannot be said.

        `unread`: names that were offered and not read. `others`: paths of other roots, which are not part of it.
        """
        return None


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """The options that every format has, and what the engine must know of its parser. Parsers inherit from it."""

    version: ClassVar[int] = 1
    """Increased when it reads the same file otherwise: the next sync then reads files of this format again."""
    isolated: ClassVar[bool] = False
    """Whether it runs in a child process: a file may crash its library, or take too much time or memory."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Packages that it imports, if they are not always installed; `extra` installs them."""
    improved_by: ClassVar[tuple[str, ...]] = ()
    """Packages without which it reads files less well; `extra` installs them."""
    extra: ClassVar[str] = ""
    size: ClassVar[str] = "text"
    """Which limit on the size of a file applies: that of `text`, `binary` or `records` (read as a stream)."""

    include: list[str] = option([], "globs of the files of this format to read; none: all")
    exclude: list[str] = option([], "globs of the files of this format to leave out")
    max_chars: int = option(0, "longest chunk of this format, in characters; 0: that of the chunker", least=0)
    min_chars: int = option(
        0,
        "a section of this format with fewer characters joins its parent's chunk; 0: as the chunker says",
        least=0,
    )
    overlap: int = option(
        0,
        "characters that a chunk repeats from the one before, in a section cut in pieces; 0: that of the chunker",
        least=0,
    )


class Parser(Protocol):
    """A parser of files into documents. A file may give many documents; bad parts become `Skipped`.

    `reads`: media types, file endings with their dot, and whole names such as `makefile`, in lower case.
    Inherit from `ParserOptions`; libraries that are not always installed are imported in `parse`.
    """

    reads: ClassVar[tuple[str, ...]]

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]: ...


@runtime_checkable
class StreamParser(Protocol):
    """A parser that reads a stream instead of loading the whole file."""

    def parse_stream(self, found: Found, stream: BinaryIO) -> Iterator[Document | Skipped]: ...


class Chunker(Protocol):
    def split(self, document: Document) -> Sequence[Chunk]: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk for a text store: the tokens of each field, joined by spaces."""

    row: Row
    fields: Mapping[str, str]


class TextWriter(Protocol):
    """Appends and deletes; nothing is visible or durable before `commit`, which syncs to disk."""

    def add(self, entries: Iterable[Entry]) -> None: ...
    def drop(self, rows: Iterable[Row]) -> None: ...
    def commit(self) -> None: ...
    def pieces(self, new: int) -> int:
        """Number of commits in which to write the last `new` entries, so that the store can merge its segments."""
        ...

    def analyse(self, field: str, text: str) -> str:
        """The indexed term of a word, such as its stem; empty if it is not indexed."""
        ...

    def row_count(self) -> int:
        """Number of rows in the score statistics, including dead and dropped rows that still count."""
        ...

    def close(self) -> None: ...
