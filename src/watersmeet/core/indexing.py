"""The verbs of index time: from a place to what a text store keeps. Few methods each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from watersmeet.core.model import Row
from watersmeet.core.pages import Chunk, Document


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a source offers. `stamp` changes whenever the content may have changed."""

    name: str  # POSIX path below the source's root
    path: str  # where to open it
    stamp: tuple[int, ...]  # size, mtime in ns, ctime in ns, inode
    mtime: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was passed over, and why."""

    path: str
    reason: str
    closed: bool = field(default=False, compare=False)
    """Whether it could not be looked into: what lies below may be there all the same."""


class Source(Protocol):
    """Where documents come from. `scan` only looks; `read` fetches, or says why it cannot."""

    def scan(self, root: str) -> Iterator[Found | Skipped]: ...
    def read(self, found: Found) -> bytes | Skipped: ...


class Parser(Protocol):
    """What is written in a file. A file may hold many documents; bad parts become `Skipped`.

    `reads`: media types, and endings with their dot, in small letters.
    """

    reads: ClassVar[tuple[str, ...]]

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]: ...


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

    def held(self) -> int:
        """How many rows scores are computed from, dead ones and those that were dropped but still count among them."""
        ...

    def close(self) -> None: ...
