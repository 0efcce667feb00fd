"""Words as dimensions of a sparse vector, and BM25 of them as tantivy computes it.

A term has two dimensions: what it weighs in a row, the length of the field counted in, and 1 for being there. How rare
it is stands in the query. The average length is that of the rows for everyone when the collection of points was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bm25 import K1, B, kept_length, rarity, token_of
from watersmeet.core.ports import Term

Key = tuple[str, str]


def weights(
    counts: Mapping[int, tuple[str, int]], lengths: Mapping[str, int], averages: Mapping[str, float]
) -> dict[int, float]:
    """The sparse vector of a row, from how often it has each term."""
    found: dict[int, float] = {}
    for term, (name, count) in counts.items():
        norm = K1 * (1 - B + B * kept_length(lengths[name]) / (averages.get(name) or 1.0))
        found[2 * term] = (1 + K1) * count / (count + norm)
        found[2 * term + 1] = 1.0
    return found


@dataclass(frozen=True, slots=True)
class Epoch:
    """Statistics that do not change: the number of each term, and how many rows of each audience have it."""

    terms: Mapping[Key, int] = field(default_factory=dict)
    counts: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    sizes: Mapping[int, int] = field(default_factory=dict)

    def size(self, audiences: Iterable[int]) -> int:
        return sum(self.sizes.get(one, 0) for one in audiences)

    def frequency(self, term: int, audiences: Iterable[int]) -> int:
        return sum(self.counts.get(one, {}).get(term, 0) for one in audiences)

    def query(self, terms: Iterable[Term], audiences: Iterable[int]) -> dict[int, float]:
        """The sparse vector of a query; a word in two forms counts once, with its highest boost."""
        audiences = list(audiences)
        size = self.size(audiences)
        found: dict[int, float] = {}
        for term in terms:
            number = self.terms.get((term.field, token_of(term.field, term.text)))
            count = self.frequency(number, audiences) if number is not None else 0
            if number is None or not count or term.boost <= 0:
                continue
            weight = 1.0 if term.constant else rarity(count, size)
            dimension = 2 * number + term.constant
            found[dimension] = max(found.get(dimension, 0.0), term.boost * weight)
        return found
