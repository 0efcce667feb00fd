"""Whether two words are the same but for their endings: enough to tell that two texts speak of the same thing."""

from __future__ import annotations

from functools import lru_cache

ENDINGS = ("ing", "ed", "es", "s", "e", "")
LEAST = 3
"""So many letters are before an ending."""


@lru_cache(4096)
def stem(word: str) -> str:
    """A word without the commonest endings."""
    return next(word.removesuffix(e) for e in ENDINGS if word.endswith(e) and (not e or len(word) - len(e) >= LEAST))


@lru_cache(4096)
def alike(word: str) -> tuple[str, ...]:
    """The word, and with other endings."""
    return (word, *(stem(word) + ending for ending in ENDINGS))
