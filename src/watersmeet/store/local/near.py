"""A store of vectors or terms as the catalogue lets it be seen: dead rows dropped, conditions held, gaps bridged."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.ports import View
from watersmeet.core.vectors import Near, near_of
from watersmeet.store.local.live import first, no_more

if TYPE_CHECKING:
    from watersmeet.core.vectors import RowArray

ALL = 1 << 62
SAMPLE = 400
"""How many rows show how one model's cosines compare with the other's."""


Q = TypeVar("Q", contravariant=True)
A = TypeVar("A", covariant=True)
T = TypeVar("T")
"""A query as its model gives it: a vector, or weighted terms."""


class Asking(Protocol[A]):
    def embed_query(self, text: str) -> A: ...


class Held(Protocol[Q]):
    """A `VectorReader` or a `SparseReader`."""

    def rows(self) -> RowArray: ...
    def search(
        self, query: Q, limit: int, within: Collection[Row] | RowArray | None = None, /
    ) -> list[tuple[Row, float]]: ...
    def score(self, query: Q, rows: Collection[Row] | RowArray, /) -> dict[Row, float]: ...


@dataclass(frozen=True, slots=True)
class LiveMeanings(Generic[T]):
    """The `Meanings` port over one state of a store and one moment of the catalogue.

    `known` and `missing` are the rows that the viewer may see. Those that are missing are live but not embedded yet:
    they get an estimate from `stand_in`, a quicker model that has seen them, by putting them at the same quantile of
    this model's cosines as they have of the other's.
    """

    reader: Held[T]
    view: View
    embedder: Asking[T]
    known: RowArray
    missing: RowArray
    stand_in: LiveMeanings[Any] | None = None

    def nearest(self, text: str, condition: Condition, limit: int) -> list[Near]:
        vector = self.embedder.embed_query(text)
        within = self.view.matching(condition, ALL) if condition else None
        found = near_of(self._live(vector, limit, within))
        if self.stand_in is None or not len(self.missing):
            return found
        wanted = self.missing if within is None else sorted({*within}.intersection(self.missing.tolist()))
        guesses = self._estimated(text, vector, wanted)
        ids = self.view.resolve(list(guesses), ANY)
        found += [Near(ids[row], guess, True) for row, guess in guesses.items() if row in ids]
        return sorted(found, key=lambda near: (-near.cosine, near.chunk))[:limit]

    def score(self, text: str, ids: Collection[ChunkId]) -> list[Near]:
        vector = self.embedder.embed_query(text)
        rows = self.view.rows(ids)
        found = self.reader.score(vector, rows.values())
        near = near_of([(chunk, found[row]) for chunk, row in rows.items() if row in found])
        if self.stand_in is None or not len(self.missing):
            return near
        known = {row: chunk for chunk, row in rows.items()}
        unseen = sorted(known.keys() & set(self.missing.tolist()))
        return near + [Near(known[row], guess, True) for row, guess in self._estimated(text, vector, unseen).items()]

    def _live(self, vector: T, limit: int, within: list[Row] | None) -> list[tuple[ChunkId, float]]:
        """Fetch more until there are enough that are live, or no more."""
        fetch = limit + limit // 4 + 8
        while True:
            offered = self.reader.search(vector, fetch, within)
            ids = self.view.resolve([row for row, _ in offered], ANY)  # what is asked for was held before
            found = [(ids[row], cosine) for row, cosine in offered if row in ids]
            if len(offered) < fetch or (len(found) >= limit and no_more(found[limit - 1][1], offered)):
                return first(found, limit)
            fetch *= 4

    def _estimated(self, text: str, vector: T, rows: Collection[Row] | RowArray) -> dict[Row, float]:
        """What this model would say of rows that it has not seen, as far as the stand-in can tell."""
        import numpy as np

        if self.stand_in is None or not len(rows):
            return {}
        other = self.stand_in.embedder.embed_query(text)
        guessed = self.stand_in.reader.score(other, rows)
        known = self.known
        sample = known[:: max(1, len(known) // SAMPLE)]
        near = [row for row, _ in self.stand_in.reader.search(other, SAMPLE // 4, known)]
        sample = np.unique(np.concatenate([sample, np.array(near, dtype=sample.dtype)]))
        theirs = self.stand_in.reader.score(other, sample)
        ours = self.reader.score(vector, sample)
        both = sorted(theirs.keys() & ours.keys())
        if not both or not guessed:
            return {}
        scale_from = np.sort([theirs[row] for row in both])
        scale_to = np.sort([ours[row] for row in both])
        if scale_to[0] == scale_to[-1]:  # all of them would get the same, which is no ranking
            return {}
        mapped = np.interp(list(guessed.values()), scale_from, scale_to)
        return dict(zip(guessed, mapped.tolist(), strict=True))
