"""BM25 over the private rows visible to a viewer, with statistics of all rows visible to that viewer."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from watersmeet.core.model import Condition, Row
from watersmeet.core.ports import Term, TextReader
from watersmeet.store.local._text import FIELDS, distinct, kept_length
from watersmeet.store.local.view import CatalogueView

K1, B = 1.2, 0.75
"""BM25 parameters, the same as in both text stores."""
MAX_CACHED_WORDS = 2_000


class PrivateWords:
    """Scores of private rows; created anew for each commit. `reweighted` adapts the query for the text store's rows,
    `scores` scores the private ones: a word has the same weight in both."""

    def __init__(self, snapshot: CatalogueView, visible: Condition, text: TextReader) -> None:
        where, values = snapshot.where(visible)
        rows = snapshot.query(
            f"SELECT w.row, {', '.join('w.' + name for name in FIELDS)} FROM withheld w JOIN chunks c ON c.row = w.row"
            f" JOIN documents d ON d.id = c.document WHERE {where or 'true'}",
            values,
        )
        self._snapshot, self._text = snapshot, text
        self._lengths: dict[Row, dict[str, int]] = {
            Row(row): dict(zip(FIELDS, lengths, strict=True)) for row, *lengths in rows
        }
        self._averages: dict[str, float] = {}
        self._postings_cache: dict[tuple[str, str], dict[Row, int]] = {}

    @property
    def size(self) -> int:
        return len(self._lengths)

    def frequency(self, field: str, text: str) -> int:
        return len(self._postings(field, self._text.analyse(field, text)))

    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        """The frequency of each word, read in one query."""
        tokens = [self._text.analyse(field, text) for text in texts]
        rows = self._snapshot.query(
            "SELECT word, row FROM withheld_words WHERE field = ? AND word IN (SELECT value FROM json_each(?))",
            [field, json.dumps(list(dict.fromkeys(tokens)))],
        )
        counts = Counter(word for word, row in rows if row in self._lengths)
        return [counts[token] if token else 0 for token in tokens]

    def reweighted(self, terms: Sequence[Term]) -> list[Term]:
        """The terms for the text store, which knows only its own rows, with rarity over all visible rows."""
        return [self._reweighted(term) for term in terms]

    def _reweighted(self, term: Term) -> Term:
        public_count = 0 if term.constant else self._text.frequency(term.field, term.text)
        if not public_count:
            return term
        private_count = self.frequency(term.field, term.text)
        size = self._text.size
        return replace(
            term,
            boost=term.boost * _rarity(public_count + private_count, size + self.size) / _rarity(public_count, size),
        )

    def scores(self, terms: Sequence[Term]) -> dict[Row, float]:
        """BM25 scores of the private rows that have any of the terms."""
        found: dict[Row, float] = {}
        for (field, token, constant), term in distinct(terms, self._text.analyse).items():
            postings = self._postings(field, token)
            if not postings:
                continue
            public_count = self._text.frequency(field, term.text)
            weight = term.boost * (1 + K1) * _rarity(public_count + len(postings), self._text.size + self.size)
            for row, count in postings.items():
                if constant:
                    score = term.boost
                else:
                    length = kept_length(self._lengths[row][field]) / self._average(field)
                    score = weight * count / (count + K1 * (1 - B + B * length))
                found[row] = found.get(row, 0.0) + score
        return found

    def _average(self, field: str) -> float:
        """The average length of a field: that of the text store, so that scores are comparable."""
        if field not in self._averages:
            lengths = [length[field] for length in self._lengths.values()]
            own = sum(lengths) / len(lengths)
            self._averages[field] = self._text.average(field) or own or 1.0
        return self._averages[field]

    def _postings(self, field: str, token: str) -> dict[Row, int]:
        found = self._postings_cache.get((field, token))
        if found is None:
            rows = self._snapshot.query(
                "SELECT row, count FROM withheld_words WHERE field = ? AND word = ?", [field, token]
            )
            found = {Row(row): count for row, count in rows if row in self._lengths} if token else {}
            if len(self._postings_cache) >= MAX_CACHED_WORDS:
                self._postings_cache = {}
            self._postings_cache[field, token] = found
        return found


def _rarity(frequency: int, size: int) -> float:
    return math.log1p((max(0, size - frequency) + 0.5) / (frequency + 0.5))
