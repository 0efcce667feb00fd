"""The concept vocabulary: which terms does this corpus use, and which vectors are theirs?

It holds the most frequent terms, how often each was seen, and a name for their vectors, which changes with the terms
and with the model: vectors are never taken for those of other terms.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from zlib import crc32

from watersmeet.core import tokens

PUBLIC, PRIVATE = "concept_vocabulary", "private_vocabulary"
"""What it is called: of the texts that everyone may see, and of the others."""
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
    text: str = ""  # the folder of the words; another one after compaction
    version: int = field(default=VERSION)
    public: bool = False  # whether all of it is from texts that everyone may see
    sum: int = 0  # of all the others; 0 by an older version

    def is_sound(self) -> bool:
        return self.sum in (0, _sum(self))

    def is_current(self, chunks: int, added: int, model: str, text: str = "") -> bool:
        """Whether it still fits so many chunks, of which so many were added since."""
        moved = added + max(0, self.chunks - (chunks - added))
        return self.model == model and self.text == text and moved <= CHANGED * max(1, self.chunks)


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
_VECTORS = re.compile(r"[a-z_]{1,40}-[0-9a-f]{1,40}\.npy")
_UNICODE = re.compile(r"[^\W\d_]{2,32}")


def _terms(text: str) -> set[str]:
    """Runs of letters: a quarter of the cost of all that a search wants of a text."""
    low = text.lower()
    return set((_ASCII if low.isascii() else _UNICODE).findall(low))


def vocabulary(
    counted: Sequence[tuple[str, int]], chunks: int, last_row: int, model: str, text: str = "", name: str = PUBLIC
) -> Terms:
    """The terms that were gathered, sealed; `vectors` says which vectors are theirs."""
    terms = [term for term, _ in counted]
    digest = hashlib.blake2b("\0".join((model, *terms)).encode("utf8", "surrogatepass"), digest_size=8).hexdigest()
    vectors = f"{name}-{digest}.npy"
    made = Terms(terms, [n for _, n in counted], chunks, last_row, model, vectors, text, public=name == PUBLIC)
    return replace(made, sum=_sum(made))


def encode(terms: Terms) -> bytes:
    return json.dumps(asdict(terms), ensure_ascii=False).encode("utf8", "surrogatepass")


def decode(content: bytes | None) -> Terms | None:
    """What was encoded; None if there is none that can be used."""
    try:
        held = Terms(**json.loads((content or b"").decode("utf8", "surrogatepass")))
        named = _VECTORS.fullmatch(held.vectors)
    except (ValueError, TypeError):
        return None
    sound = held.version == VERSION and held.is_sound() and len(held.terms) == len(held.frequencies)
    return held if sound and named else None


def _sum(terms: Terms) -> int:
    values = {key: value for key, value in asdict(terms).items() if key != "sum"}
    return crc32(repr(sorted(values.items())).encode("utf8", "surrogatepass")) or 1
