"""The concept vocabulary: which terms does this corpus use, and where are their vectors?

`concept_vocabulary.json` holds the most frequent terms, how often each was seen, and the name of the file of their
vectors, which is made when it is first needed. That name changes with the terms and with the model, so vectors are
never taken for those of other terms. Both files can be deleted: they are made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from watersmeet.core import tokens
from watersmeet.core.files import replace_file

if TYPE_CHECKING:
    from watersmeet.core.vectors import Embedder, Matrix

FILE = "concept_vocabulary.json"
VERSION = 1
MOST_TERMS = 20_000
SHORTEST = 3
CHANGED = 0.05
"""The share of new and gone chunks from which on the terms are gathered anew."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms, the most frequent first. `chunks` and `last_row` are what they were gathered from."""

    terms: list[str]
    frequencies: list[int]
    chunks: int
    last_row: int
    model: str  # fingerprint of the model that the vectors are of
    vectors: str = ""
    version: int = field(default=VERSION)

    def is_current(self, rows: Sequence[int], model: str) -> bool:
        """Whether it still fits what is live, `rows` in ascending order."""
        from bisect import bisect_right

        kept = bisect_right(rows, self.last_row)
        moved = (len(rows) - kept) + max(0, self.chunks - kept)
        return self.model == model and moved <= CHANGED * max(1, self.chunks)


def gather(texts: Iterable[str], most: int = MOST_TERMS) -> list[tuple[str, int]]:
    """The terms in most of the texts, with the number of texts; no stop words, numbers or very short words."""
    counts = Counter(chain.from_iterable(map(_terms, texts)))
    found: Counter[str] = Counter()
    for term, count in counts.items():
        if term.isascii():
            found[term] += count
        else:  # accents folded, scripts without spaces cut, as everywhere
            for word in set(tokens.words(term)):
                found[word] += count
    wanted = [(t, n) for t, n in found.items() if t not in tokens.ASKING and (len(t) >= SHORTEST or not t.isascii())]
    return sorted(wanted, key=lambda pair: (-pair[1], pair[0]))[:most]


_ASCII = re.compile(r"[a-z]{3,32}")
_UNICODE = re.compile(r"[^\W\d_]{2,32}")


def _terms(text: str) -> set[str]:
    """Runs of letters: a quarter of the cost of all that a search wants of a text."""
    low = text.lower()
    return set((_ASCII if low.isascii() else _UNICODE).findall(low))


def save(folder: str, counted: Sequence[tuple[str, int]], chunks: int, last_row: int, model: str) -> Terms:
    """Replace what is there in one step; vectors of other terms go."""
    terms = [term for term, _ in counted]
    digest = hashlib.blake2b("\0".join((model, *terms)).encode("utf8", "surrogatepass"), digest_size=8).hexdigest()
    made = Terms(terms, [n for _, n in counted], chunks, last_row, model, f"concept_vocabulary-{digest}.npy")
    content = json.dumps(asdict(made), ensure_ascii=False).encode("utf8", "surrogatepass")
    replace_file(os.path.join(folder, FILE), content)
    for name in os.listdir(folder):
        if name.startswith("concept_vocabulary-") and name != made.vectors:
            with suppress(OSError):  # it is only in the way
                os.unlink(os.path.join(folder, name))
    return made


def load(folder: str) -> Terms | None:
    """What is there; None if there is none that can be used."""
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            held = Terms(**json.loads(file.read().decode("utf8", "surrogatepass")))
    except (OSError, ValueError, TypeError):
        return None
    sound = held.version == VERSION and len(held.terms) == len(held.frequencies) and os.path.basename(held.vectors)
    return held if sound and os.path.basename(held.vectors) == held.vectors else None


def vectors(folder: str, vocabulary: Terms, model: Embedder) -> Matrix:
    """One row for each term, from the file or, the first time, from the model."""
    import numpy as np

    path = os.path.join(folder, vocabulary.vectors)
    with suppress(OSError, ValueError, EOFError):
        held: Matrix = np.load(path).astype(np.float32)
        if held.shape == (len(vocabulary.terms), model.dimension):
            return held
    made = model.embed(vocabulary.terms)
    with suppress(OSError):  # a folder that may only be read costs the time again, and nothing else
        from io import BytesIO

        content = BytesIO()
        np.save(content, made.astype(np.float16))
        replace_file(path, content.getvalue())
    return made
