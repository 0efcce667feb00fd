"""Near copies: passages that repeat a better one.

Two texts are alike if they share most of their three-word shingles (Broder 1997). A text that does not share so many
with all better texts together shares them with none of them, so only a few pairs are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from watersmeet.core.model import ChunkId
from watersmeet.core.tokens import forms

_Shingles = set[int]  # hashes: tuples of strings would take half as long again

MIN_SIMILARITY = 0.7
"""Share of common shingles from which two texts are the same."""
MIN_COMPARED_WORDS = 8
"""A text of fewer words is compared together with its title and headings."""


class Titled(Protocol):
    """A passage, or a result."""

    @property
    def id(self) -> ChunkId: ...
    @property
    def title(self) -> str: ...
    @property
    def headings(self) -> tuple[str, ...]: ...
    @property
    def text(self) -> str: ...


def near_copies(passages: Iterable[Titled], min_similarity: float = MIN_SIMILARITY) -> dict[ChunkId, ChunkId]:
    """For each passage that repeats an earlier one, that earlier one.

    Passages with different identifiers in title or headings are no copies, however alike their texts."""
    found: dict[ChunkId, ChunkId] = {}
    kept: list[tuple[Titled, _Shingles]] = []
    all_shingles: _Shingles = set()
    for passage in passages:
        mine = _shingles(passage)
        if len(mine & all_shingles) >= min_similarity * len(mine):
            better = next(
                (one for one, shingles in kept if _same(mine, shingles, min_similarity) and _alike(one, passage)), None
            )
            if better is not None:
                found[passage.id] = better.id
                continue
        kept.append((passage, mine))
        all_shingles |= mine
    return found


def _same(one: _Shingles, other: _Shingles, min_similarity: float) -> bool:
    common = len(one & other)
    return common >= min_similarity * (len(one) + len(other) - common)


def _shingles(passage: Titled) -> _Shingles:
    words = passage.text.casefold().split()
    if len(words) < MIN_COMPARED_WORDS:
        words = [*" ".join((passage.title, *passage.headings)).casefold().split(), *words]
    if len(words) < 3:
        return {hash(tuple(words))}
    return set(map(hash, zip(words, words[1:], words[2:], strict=False)))


def _alike(one: Titled, other: Titled) -> bool:
    return forms("\n".join((one.title, *one.headings))) == forms("\n".join((other.title, *other.headings)))
