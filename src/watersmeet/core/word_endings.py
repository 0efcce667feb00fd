"""A light stemmer: equal stems mean that two texts use the same word."""

from __future__ import annotations

from functools import lru_cache

ENDINGS = ("ing", "ed", "es", "s", "e", "")
MIN_STEM_LENGTH = 3
"""Letters that must remain when an ending is removed."""


@lru_cache(4096)
def stem(word: str) -> str:
    """Word without its ending, if that is a common one."""
    return next(
        word.removesuffix(e) for e in ENDINGS if word.endswith(e) and (not e or len(word) - len(e) >= MIN_STEM_LENGTH)
    )


@lru_cache(4096)
def alike(word: str) -> tuple[str, ...]:
    """The word, and its stem with each common ending."""
    return (word, *(stem(word) + ending for ending in ENDINGS))
