"""The stemmer: English Snowball stems, as tantivy makes them. Words with equal stems are one word of an index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tantivy

MAX_CACHED_STEMS = 1 << 17
LANGUAGE = "english"
VERSION = 1
"""Version of the stems, part of the fingerprint of what is stored by stem: raise it when a word gets another stem."""

_cache: dict[str, str] = {}
"""Texts repeat words, and a plain dict is the fastest cache."""


def stem(word: str) -> str:
    """Stem of a word; empty if it is not one token."""
    found = _cache.get(word)
    return found if found is not None else stems((word,))[0]


def stems(words: Sequence[str]) -> list[str]:
    """Stems of words, in one call for all that are not cached: 0.5 µs a word instead of 3."""
    found = {word: _cache.get(word) for word in words}
    new = [word for word, stem in found.items() if stem is None]
    if new:
        computed = dict(zip(new, _computed(new), strict=True))
        if len(_cache) + len(new) > MAX_CACHED_STEMS:
            _cache.clear()
        _cache.update(computed)
        found |= computed
    return [found[word] or "" for word in words]


def _computed(words: list[str]) -> list[str]:
    single = [word for word in words if len(word.split()) == 1]
    stemmed = _analyser().analyze(" ".join(single))
    if len(stemmed) != len(single):  # a character that only tantivy takes for a space
        apart = [_analyser().analyze(word) for word in single]
        stemmed = [parts[0] if len(parts) == 1 else "" for parts in apart]
    found = dict(zip(single, stemmed, strict=True))
    return [found.get(word, "") for word in words]


@cache
def _analyser() -> tantivy.TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer(LANGUAGE)).build()
