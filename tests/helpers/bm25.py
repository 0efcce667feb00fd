"""BM25 as tantivy computes it, for other stores: its stems, lengths and constants."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import tantivy

from watersmeet.core.errors import ConfigError
from watersmeet.core.ports import Term
from watersmeet.core.tokens import STOPWORDS

FIELDS = ("body", "title", "headings", "names", "tags", "forms")
K1, B = 1.2, 0.75
LENGTHS = [n if n < 32 else 24 + ((n & 7 | 8) << (n - 32 >> 3)) for n in range(256)]
_STOPS = tantivy.Filter.custom_stopword(sorted(STOPWORDS))
_ANALYZER = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(_STOPS)
_STEMMER = _ANALYZER.filter(tantivy.Filter.stemmer("english")).build()


@lru_cache(maxsize=1 << 18)
def _stem(word: str) -> str:
    return (_STEMMER.analyze(word) or [""])[0]


def token_of(field: str, word: str) -> str:
    """The token of a word in a field; empty for a stop word."""
    if field not in FIELDS:
        raise ConfigError(f"there is no text field {field!r}")
    return word if field == "forms" else _stem(word)


def tokens_of(field: str, text: str) -> list[str]:
    return [token for word in text.split() if (token := token_of(field, word))]


def kept_length(length: int) -> int:
    """The length as tantivy stores it, in one byte: rounded down to the next possible one."""
    return LENGTHS[bisect_right(LENGTHS, length) - 1]


def rarity(frequency: int, size: int) -> float:
    return math.log1p((size - frequency + 0.5) / (frequency + 0.5))


class Postings:
    """Texts by their words, scored in single precision. The average length is that of the `public` ones."""

    def __init__(self, texts: Sequence[Mapping[str, Counter[str]]], public: Sequence[bool]) -> None:
        self.size = len(texts)
        self._norms: dict[str, Any] = {}
        self._of: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for name in FIELDS:
            lengths = np.array([text[name].total() for text in texts] or [0])
            average = lengths[np.array(public)].mean() if any(public) else lengths.mean()
            shares = np.array([*map(kept_length, lengths.tolist())]) / max(average, 1e-9)
            self._norms[name] = (K1 * (1 - B + B * shares)).astype(np.float32)
            for n, text in enumerate(texts):
                for token, count in text[name].items():
                    self._of[name, token].append((n, count))

    def frequency(self, field: str, word: str) -> int:
        return len(self._of.get((field, token_of(field, word)), ()))

    def scores(self, terms: Sequence[Term]) -> dict[int, float]:
        """Scores by text number; a word in two forms counts once, with its highest boost."""
        boosts: dict[tuple[str, str, bool], float] = {}
        for term in terms:
            key = (term.field, token_of(term.field, term.text), term.constant)
            boosts[key] = max(boosts.get(key, 0.0), term.boost)
        scores = np.zeros(self.size, dtype=np.float32)
        for (name, token, constant), worth in boosts.items():
            if worth > 0 and (found := self._of.get((name, token))):
                places, counts = np.array(found, dtype=np.int64).T
                weight = np.float32(worth * (1 + K1) * rarity(len(found), self.size))
                share = counts.astype(np.float32) / (counts.astype(np.float32) + self._norms[name][places])
                scores[places] += np.float32(worth) if constant else weight * share
        return {n: float(scores[n]) for n in np.flatnonzero(scores).tolist()}
