"""Hits of a store that may hold dead rows, as the catalogue lets them be seen: live ones that satisfy a condition.

A condition is never turned into a list of all rows that satisfy it. Where few do, the store is told which; else more
is fetched than is wanted, as much as the share of the rows makes likely that passes, and each is decided by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.ports import Term, TextReader
from watersmeet.core.visibility import AUDIENCE_GATE
from watersmeet.store.local.view import FEW, CatalogueView

if TYPE_CHECKING:
    from watersmeet.store.local.private_words import WithheldWords
    from watersmeet.store.local.snapshot import LocalSnapshot

MOST_EQUAL = 2_000
"""So many rows are looked through to see whose ids come first among equal scores: rows tell of the index's history."""
RARE = 0.05
"""If a smaller share of the rows passes, the condition is read from its own end, if that is short."""
SPARE = 1.3
"""So many times as many are fetched as should be enough."""
MOST_FETCHED = 20_000
"""If so many are not enough, all rows that satisfy the condition are listed after all."""

Search = Callable[[int, Sequence[Row] | None], list[tuple[Row, float]]]
"""So many of the best rows, only among some if these are given; equal scores in the order of rows."""


def best(
    search: Search, view: CatalogueView, condition: Condition, limit: int, few: int = FEW
) -> tuple[list[tuple[Row, float]], dict[Row, ChunkId]]:
    """The best rows that are live and satisfy the condition, equal ones in the order of their ids, and all ids.

    `few`: so many rows the store had better be told, instead of being asked for more than are wanted.
    """
    if limit < 1:
        return [], {}
    share = view.share(condition) if condition else 1.0
    within = view.few(condition, few) if share < RARE else None
    fetch = limit + limit // 4 + 8
    if within is None and share < 1:
        fetch = int(min(MOST_FETCHED, max(fetch, SPARE * limit / max(share, 0.01))))
    ids: dict[Row, ChunkId] = {}
    decided: set[Row] = set()
    while True:
        offered = search(fetch, within)
        new = [row for row, _ in offered if row not in decided]
        ids |= view.resolve(new, condition if within is None else ANY)
        decided.update(new)
        found = sorted((hit for hit in offered if hit[0] in ids), key=lambda hit: (-hit[1], ids[hit[0]]))
        if len(offered) < fetch or (len(found) >= limit and _no_more(found[limit - 1][1], offered)):
            return found[:limit], ids
        if len(found) >= limit:  # there are enough: only equal ones are looked for
            fetch = min(4 * fetch, max(fetch + 1, MOST_EQUAL))
        elif within is None and condition and fetch >= MOST_FETCHED:
            within = view.every(condition)
            decided.clear()
        else:
            fetch *= 4


def _no_more(last: float, offered: Sequence[tuple[Row, float]]) -> bool:
    """Whether none of what was not offered can be equal to the last that is wanted, or too many are."""
    return offered[-1][1] < last or len(offered) >= MOST_EQUAL


class LiveWords:
    """The `Words` port of a snapshot. Private rows that the viewer sees are scored beside the text store."""

    def __init__(self, snapshot: LocalSnapshot, seen: Condition) -> None:
        self._view, self._seen = snapshot, seen
        self._aside: WithheldWords | None = None
        self._aside_version: object = None

    @property
    def size(self) -> int:
        aside = self._private()
        return self._text.size + (aside.size if aside else 0)

    @property
    def _text(self) -> TextReader:
        return self._view.text()

    def frequency(self, field: str, text: str) -> int:
        aside = self._private()
        return self._text.frequency(field, text) + (aside.frequency(field, text) if aside else 0)

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        if limit < 1:
            return []
        text, aside = self._text, self._private()
        weighed = aside.weighed(terms) if aside else terms
        found, ids = best(
            lambda fetch, within: text.match(weighed, fetch, within), self._view, self._restricting(condition), limit
        )
        if aside:
            beside = sorted(aside.scores(terms).items(), key=_best_first)
            for start in range(0, len(beside), 2 * limit):
                part = beside[start : start + 2 * limit]
                ids = {**ids, **self._view.resolve([row for row, _ in part], condition)}
                found = [*found, *(hit for hit in part if hit[0] in ids)]
                found.sort(key=lambda hit: (-hit[1], ids[hit[0]]))
                if len(found) >= limit and found[limit - 1][1] > part[-1][1]:
                    break
        return [(ids[row], score) for row, score in found[:limit]]

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        aside, rows = self._private(), self._view.rows(ids)
        found = self._text.score(aside.weighed(terms) if aside else terms, rows.values())
        if aside:
            found = {**found, **aside.scores(terms)}
        return {chunk: found[row] for chunk, row in rows.items() if row in found}

    def _restricting(self, condition: Condition) -> Condition:
        """Without who may see what, where the text store holds only what everyone may see."""
        if self._view.public_text and AUDIENCE_GATE in condition.gates:
            gates = {key: allowed for key, allowed in condition.gates.items() if key != AUDIENCE_GATE}
            return replace(condition, gates=gates)
        return condition

    def _private(self) -> WithheldWords | None:
        """The words of private rows that are seen, as of this moment; None if there are none."""
        view, version = self._view, self._view.version  # what comes late is of the moment in which it began
        if self._aside_version != version:
            aside = None
            if view.withholds():
                from watersmeet.store.local.private_words import WithheldWords

                aside = WithheldWords(view, self._seen, self._text)
            self._aside, self._aside_version = aside if aside and aside.size else None, version
        return self._aside


def _best_first(hit: tuple[Row, float]) -> tuple[float, Row]:
    return -hit[1], hit[0]
