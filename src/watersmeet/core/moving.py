"""Interface to move all that an index has into a store of another kind.

The source gives its documents in a fixed order, each with a number that grows, so that a move that was interrupted goes
on after the last acknowledged one. The target fills a new generation, which no query sees until it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from watersmeet.core.index import Index, Tier
    from watersmeet.core.model import ChunkId
    from watersmeet.core.registry_records import Stored
    from watersmeet.core.vectors import Matrix
    from watersmeet.core.writing import FileState, Put, Root


class Moved(NamedTuple):
    """A document with the number of its place in the source, and the name of its collection."""

    number: int
    put: Put
    collection: str


class Contents(Protocol):
    """All that one snapshot of an index has."""

    @property
    def identity(self) -> str:
        """Changes with the documents: a move goes on only if it is the same."""
        ...

    def facts(self) -> Mapping[str, str]: ...
    def tiers(self) -> Mapping[str, Tier]:
        """Tiers whose vectors can be read."""
        ...

    def collections(self) -> Mapping[str, Mapping[str, str]]:
        """Metadata of each collection."""
        ...

    def roots(self) -> Sequence[tuple[Root, str, Mapping[str, FileState]]]:
        """Roots with the names of their collections, and their files as they were last read."""
        ...

    def records(self) -> Iterator[Stored]: ...
    def documents(self, after: int) -> Iterator[Moved]:
        """Documents in their order, those after this number."""
        ...

    def vectors(self, tier: Tier, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Matrix]:
        """The vectors of those of these chunks that have one."""
        ...


class Receiver(Protocol):
    """A new generation that is being filled."""

    @property
    def generation(self) -> str: ...
    @property
    def last(self) -> int:
        """Number of the last acknowledged document; 0 at the beginning."""
        ...

    @property
    def rows(self) -> int:
        """Number of chunks that it has."""
        ...

    def begin(self, contents: Contents) -> None:
        """Facts, collections and roots; does nothing if the move goes on."""
        ...

    def put(self, documents: Sequence[Moved], vectors: Mapping[str, Mapping[ChunkId, Matrix]]) -> None:
        """Documents with their vectors by tier: acknowledged when it returns."""
        ...

    def finish(self) -> Index:
        """What is only made when all is there. Returns the index as it will be once the generation is named."""
        ...

    def name(self, contents: Contents) -> None:
        """Let queries search this generation from now on."""
        ...


class Receiving(Protocol):
    """An index that another one can be moved to."""

    def receive(self, identity: str, wait: float) -> AbstractContextManager[Receiver]:
        """A new generation, or the one that a move of the same contents has begun; it is kept until it is named."""
        ...
