"""BM25 as sparse vectors, with the weights that tantivy computes.

A term of a field has two dimensions: what it weighs in a row, with the length of the field counted in, and 1 for being
there. How rare it is stands in the query. The average lengths are pinned for the life of a collection.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from watersmeet.common.stems import stem, stems
from watersmeet.core.tokens import STOPWORDS
from watersmeet.store.local._text import EXACT_FIELD, MAX_TOKEN_LENGTH, WORD_FIELDS, checked_field, kept_length, plain

if TYPE_CHECKING:
    from watersmeet.core.sparse import TermArray, Weights

FIELDS = (*WORD_FIELDS, EXACT_FIELD)
K1, B = 1.2, 0.75


def token_of(field: str, text: str) -> str:
    """The token of a word in a field; empty if it is not indexed."""
    if checked_field(field) == EXACT_FIELD:
        return text if len(text) <= MAX_TOKEN_LENGTH else ""
    known = len(text) <= MAX_TOKEN_LENGTH and text not in STOPWORDS
    return stem(plain(text)) if known else ""


def tokens_of(field: str, text: str) -> list[str]:
    """The tokens of a text in a field."""
    found = plain(text).split()
    if field == EXACT_FIELD:
        return found
    return [token for token in stems([word for word in found if word not in STOPWORDS]) if token]


def counted(fields: Mapping[str, str]) -> dict[str, Counter[str]]:
    """How often each token is in each field of a chunk."""
    return {name: Counter(tokens_of(name, fields[name])) for name in FIELDS if fields.get(name)}


def rarity(frequency: int, size: int) -> float:
    return math.log1p((size - frequency + 0.5) / (frequency + 0.5))


def weight_dimension(term: int) -> int:
    return 2 * term


def presence_dimension(term: int) -> int:
    return 2 * term + 1


def weights(terms: Any, lengths: Mapping[int, int], averages: Mapping[int, float]) -> tuple[TermArray, Weights]:
    """The sparse vector of a row. `terms`: an array of number, field and count of each; lengths by field."""
    import numpy as np

    norms = {
        field: K1 * (1 - B + B * kept_length(length) / (averages.get(field) or 1.0))
        for field, length in lengths.items()
    }
    rows = np.asarray(terms, dtype=np.int64).reshape(-1, 3)
    counts = rows[:, 2].astype(np.float64)
    norm = np.array([norms[field] for field in rows[:, 1].tolist()], dtype=np.float64)
    values = np.empty(2 * len(rows), dtype=np.float32)
    values[0::2] = (1 + K1) * counts / (counts + norm)
    values[1::2] = 1.0
    dimensions = np.empty(2 * len(rows), dtype=np.int64)
    dimensions[0::2] = 2 * rows[:, 0]
    dimensions[1::2] = 2 * rows[:, 0] + 1
    return dimensions, values
