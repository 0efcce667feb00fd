"""Word search filtered by the catalogue: only live rows that satisfy a condition.

A condition is never expanded into all rows that satisfy it. If few do, the store searches only those; else more hits
are fetched than needed, according to the estimated share of rows that pass, and each is filtered by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import frexp, ldexp
from typing import TYPE_CHECKING

from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.ports import Term, TextReader
from watersmeet.core.visibility import AUDIENCE_GATE
from watersmeet.store.local.view import FEW_DOCUMENTS, RARE_SHARE, CatalogueView

if TYPE_CHECKING:
    from watersmeet.store.local.private_words import PrivateWords
    from watersmeet.store.local.snapshot import LocalSnapshot

MAX_EQUAL = 2_000
"""Hits fetched at most to order equal scores by id: the order of rows depends on the index's history."""
FETCH_FACTOR = 1.3
"""How many times more hits are fetched than the estimate needs."""
KEPT = 1 << 20
"""A score is a multiple of this part of the next power of two, if it is compared with one of another kind of row."""
MAX_FETCHED = 20_000
"""If so many hits are not enough, all rows that satisfy the condition are listed after all."""

Search = Callable[[int, Sequence[Row] | None], list[tuple[Row, float]]]
"""Search function: the best N rows, only within the given ones if any; equal scores by row."""


def best(
    search: Search, snapshot: CatalogueView, condition: Condition, limit: int, few: int = FEW_DOCUMENTS
) -> tuple[list[tuple[Row, float]], dict[Row, ChunkId]]:
    """The best rows that are live and satisfy the condition, equal scores ordered by id, and the ids of rows.

    `few`: up to so many matching rows are passed to the store, instead of fetching more hits and filtering.
    """
    if limit < 1:
        return [], {}
    share = snapshot.share(condition) if condition else 1.0
    within = snapshot.few(condition, few) if share < RARE_SHARE else None
    fetch = limit + limit // 4 + 8
    if within is None and share < 1:
        fetch = int(min(MAX_FETCHED, max(fetch, FETCH_FACTOR * limit / max(share, 0.01))))
    ids: dict[Row, ChunkId] = {}
    decided: set[Row] = set()
    while True:
        offered = search(fetch, within)
        new = [row for row, _ in offered if row not in decided]
        ids |= snapshot.resolve(new, condition if within is None else ANY)
        decided.update(new)
        found = sorted((hit for hit in offered if hit[0] in ids), key=lambda hit: (-hit[1], ids[hit[0]]))
        if len(offered) < fetch or (len(found) >= limit and _is_complete(found[limit - 1][1], offered)):
            return found[:limit], ids
        if len(found) >= limit:  # enough hits: fetch only those of equal score
            fetch = min(4 * fetch, max(fetch + 1, MAX_EQUAL))
        elif within is None and condition and fetch >= MAX_FETCHED:
            within = snapshot.every(condition)
            decided.clear()
        else:
            fetch *= 4


def _is_complete(last: float, offered: Sequence[tuple[Row, float]]) -> bool:
    """Whether no further hit can have the score of the last one returned, or too many have."""
    return offered[-1][1] < last or len(offered) >= MAX_EQUAL


class LiveWords:
    """The `Words` port of a snapshot. Private rows visible to the viewer are scored outside the text store."""

    def __init__(self, snapshot: LocalSnapshot, visible: Condition) -> None:
        self._snapshot, self._visible = snapshot, visible
        self._private_words: PrivateWords | None = None
        self._private_version: object = None

    @property
    def size(self) -> int:
        private = self._private_reader()
        return self._text.size + (private.size if private else 0)

    @property
    def _text(self) -> TextReader:
        return self._snapshot.text()

    def frequency(self, field: str, text: str) -> int:
        private = self._private_reader()
        return self._text.frequency(field, text) + (private.frequency(field, text) if private else 0)

    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        counts, private = self._text.frequencies(field, texts), self._private_reader()
        if private:
            counts = [count + own for count, own in zip(counts, private.frequencies(field, texts), strict=True)]
        return counts

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        if limit < 1:
            return []
        text, private = self._text, self._private_reader()
        weighed = private.reweighted(terms) if private else terms
        found, ids = best(
            lambda fetch, within: text.match(weighed, fetch, within),
            self._snapshot,
            self._without_audience(condition),
            limit,
        )
        if private:
            found = [(row, _rounded(score)) for row, score in found]
            private_hits = sorted(_rounded_all(private.scores(terms)).items(), key=_best_first)
            for start in range(0, len(private_hits), 2 * limit):
                part = private_hits[start : start + 2 * limit]
                ids = {**ids, **self._snapshot.resolve([row for row, _ in part], condition)}
                found = [*found, *(hit for hit in part if hit[0] in ids)]
                found.sort(key=lambda hit: (-hit[1], ids[hit[0]]))
                if len(found) >= limit and found[limit - 1][1] > part[-1][1]:
                    break
        return [(ids[row], score) for row, score in found[:limit]]

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        private, rows = self._private_reader(), self._snapshot.rows(ids)
        found = self._text.score(private.reweighted(terms) if private else terms, rows.values())
        if private:
            found = _rounded_all({**found, **private.scores(terms)})
        return {chunk: found[row] for chunk, row in rows.items() if row in found}

    def _without_audience(self, condition: Condition) -> Condition:
        """The condition without the audience gate, if the text store has public rows only."""
        if self._snapshot.public_text and AUDIENCE_GATE in condition.gates:
            gates = {key: allowed for key, allowed in condition.gates.items() if key != AUDIENCE_GATE}
            return replace(condition, gates=gates)
        return condition

    def _private_reader(self) -> PrivateWords | None:
        """The words of visible private rows in this snapshot; None if there are none."""
        snapshot, version = self._snapshot, self._snapshot.version  # a late thread keeps the snapshot it started with
        if self._private_version != version:
            private = None
            if snapshot.has_private_words():
                from watersmeet.store.local.private_words import PrivateWords

                private = PrivateWords(snapshot, self._visible, self._text)
            self._private_words, self._private_version = private if private and private.size else None, version
        return self._private_words


def _rounded_all(scores: dict[Row, float]) -> dict[Row, float]:
    return {row: _rounded(score) for row, score in scores.items()}


def _rounded(score: float) -> float:
    """Without the last bits: a public and a private row with the same words differ in them, and are to be equal."""
    part, exponent = frexp(score)
    return ldexp(round(part * KEPT), exponent) / KEPT


def _best_first(hit: tuple[Row, float]) -> tuple[float, Row]:
    return -hit[1], hit[0]
