"""The words of an index as the catalogue lets them be seen: dead rows dropped, conditions held, rows made ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.ports import Term, TextReader, View
from watersmeet.core.viewers import AUDIENCE_GATE

if TYPE_CHECKING:
    from watersmeet.store.local.withheld import WithheldWords

MOST_EQUAL = 2_000
"""So many rows are looked through to see whose ids come first among equal scores: rows tell of the index's history."""
NARROW = 5_000
"""Up to so many matching rows the text store is told where to look; beyond, over-fetching is cheaper."""


def no_more(last: float, offered: Sequence[tuple[Row, float]]) -> bool:
    """Whether none of what was not offered can be equal to the last that is wanted, or too many are."""
    return offered[-1][1] < last or len(offered) >= MOST_EQUAL


def first(found: list[tuple[ChunkId, float]], limit: int) -> list[tuple[ChunkId, float]]:
    """So many of the best; of equal ones at the end, those whose ids come first."""
    if len(found) > limit and found[limit - 1][1] == found[limit][1]:
        found.sort(key=lambda hit: (-hit[1], hit[0]))
    return found[:limit]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiveWords:
    """The `Words` port over one state of a text store and one moment of the catalogue.

    `aside` are the private rows that the viewer sees. `public`: the text store holds no private row, so that nobody
    has to be kept from any of its rows.
    """

    text: TextReader
    view: View
    aside: WithheldWords | None = None
    public: bool = False

    @property
    def size(self) -> int:
        return self.text.size + (self.aside.size if self.aside else 0)

    def frequency(self, field: str, text: str) -> int:
        return self.text.frequency(field, text) + (self.aside.frequency(field, text) if self.aside else 0)

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        found, ids = self._shared(self.aside.weighed(terms) if self.aside else terms, condition, limit)
        if self.aside:
            beside = sorted(self.aside.scores(terms).items(), key=_best_first)
            for start in range(0, len(beside), 2 * limit):
                part = beside[start : start + 2 * limit]
                ids = {**ids, **self.view.resolve([row for row, _ in part], condition)}
                found = [*found, *(hit for hit in part if hit[0] in ids)]
                found.sort(key=lambda hit: (-hit[1], ids[hit[0]]))
                if len(found) >= limit and found[limit - 1][1] > part[-1][1]:
                    break
        return [(ids[row], score) for row, score in found[:limit]]

    def _shared(
        self, terms: Sequence[Term], condition: Condition, limit: int
    ) -> tuple[list[tuple[Row, float]], dict[Row, ChunkId]]:
        """Fetch more until there are enough that are live and wanted, or no more."""
        within = self.view.matching(condition, NARROW) if self._restricts(condition) else None
        fetch = limit + limit // 4 + 8
        while True:
            offered = self.text.match(terms, fetch, within)
            ids = self.view.resolve([row for row, _ in offered], condition if within is None else ANY)
            found = sorted((hit for hit in offered if hit[0] in ids), key=lambda hit: (-hit[1], ids[hit[0]]))
            if len(offered) < fetch or (len(found) >= limit and no_more(found[limit - 1][1], offered)):
                return found[:limit], ids
            fetch *= 4

    def _restricts(self, condition: Condition) -> bool:
        """Whether a condition keeps any row of the text store out."""
        if self.public and AUDIENCE_GATE in condition.gates:
            gates = {key: allowed for key, allowed in condition.gates.items() if key != AUDIENCE_GATE}
            condition = replace(condition, gates=gates)
        return bool(condition)

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        rows = self.view.rows(ids)
        found = self.text.score(self.aside.weighed(terms) if self.aside else terms, rows.values())
        if self.aside:
            found = {**found, **self.aside.scores(terms)}
        return {chunk: found[row] for chunk, row in rows.items() if row in found}


def _best_first(hit: tuple[Row, float]) -> tuple[float, Row]:
    return -hit[1], hit[0]
