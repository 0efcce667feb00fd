"""BM25 over the private rows that a viewer may see, with the statistics of all that the viewer may see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from watersmeet.core.model import Condition, Row
from watersmeet.core.ports import Term, TextReader
from watersmeet.store.local._text import FIELDS, distinct
from watersmeet.store.local.view import CatalogueView

K1, B = 1.2, 0.75
"""As both text stores have them."""
REMEMBERED = 2_000


class WithheldWords:
    """Made anew whenever the catalogue changes. Rows that a text store has are weighed by `weighed`, these by `scores`:
    a word counts for as much in both."""

    def __init__(self, view: CatalogueView, seen: Condition, text: TextReader) -> None:
        where, values = view.where(seen)
        rows = view.query(
            f"SELECT w.row, {', '.join('w.' + name for name in FIELDS)} FROM withheld w JOIN chunks c ON c.row = w.row"
            f" JOIN documents d ON d.id = c.document WHERE {where or 'true'}",
            values,
        )
        self._view, self._text = view, text
        self._lengths: dict[Row, dict[str, int]] = {
            Row(row): dict(zip(FIELDS, lengths, strict=True)) for row, *lengths in rows
        }
        self._averages: dict[str, float] = {}
        self._said: dict[tuple[str, str], dict[Row, int]] = {}

    @property
    def size(self) -> int:
        return len(self._lengths)

    def frequency(self, field: str, text: str) -> int:
        return len(self._postings(field, self._text.analyse(field, text)))

    def weighed(self, terms: Sequence[Term]) -> list[Term]:
        """The terms for a text store that knows only its own rows: rare is what is rare in all that is seen."""
        return [self._weighed(term) for term in terms]

    def _weighed(self, term: Term) -> Term:
        there = 0 if term.constant else self._text.frequency(term.field, term.text)
        if not there:
            return term
        here = self.frequency(term.field, term.text)
        size = self._text.size
        return replace(term, boost=term.boost * _rarity(there + here, size + self.size) / _rarity(there, size))

    def scores(self, terms: Sequence[Term]) -> dict[Row, float]:
        """What each of these rows has for the terms, if it has any of them."""
        found: dict[Row, float] = {}
        for (field, token, constant), term in distinct(terms, self._text.analyse).items():
            postings = self._postings(field, token)
            if not postings:
                continue
            there = self._text.frequency(field, term.text)
            weight = term.boost * (1 + K1) * _rarity(there + len(postings), self._text.size + self.size)
            for row, count in postings.items():
                if constant:
                    score = term.boost
                else:
                    length = self._lengths[row][field] / self._average(field)
                    score = weight * count / (count + K1 * (1 - B + B * length))
                found[row] = found.get(row, 0.0) + score
        return found

    def _average(self, field: str) -> float:
        """How long a field usually is: as the text store has it, for its rows and these are compared."""
        if field not in self._averages:
            lengths = [length[field] for length in self._lengths.values()]
            own = sum(lengths) / len(lengths)
            self._averages[field] = max(1.0, self._text.average(field) or own)
        return self._averages[field]

    def _postings(self, field: str, token: str) -> dict[Row, int]:
        found = self._said.get((field, token))
        if found is None:
            rows = self._view.query(
                "SELECT row, count FROM withheld_words WHERE field = ? AND word = ?", [field, token]
            )
            found = {Row(row): count for row, count in rows if row in self._lengths} if token else {}
            if len(self._said) >= REMEMBERED:
                self._said = {}
            self._said[field, token] = found
        return found


def _rarity(frequency: int, size: int) -> float:
    return math.log1p((max(0, size - frequency) + 0.5) / (frequency + 0.5))
