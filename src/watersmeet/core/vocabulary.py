"""The concept vocabulary: the most frequent terms of a corpus, with their frequencies and vectors.

The file name of the vectors changes with the terms and with the model, so that vectors never belong to other terms.
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
"""Names of the vocabulary of public texts and of that of the other texts."""
VERSION = 1
MAX_TERMS = 20_000
MIN_TERM_LENGTH = 3
MAX_CHANGED_SHARE = 0.05
"""Share of added and removed chunks above which the terms are gathered again."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms, most frequent first. `chunks` and `last_row` describe the index that they were gathered from."""

    terms: list[str]
    frequencies: list[int]
    chunks: int
    last_row: int
    model: str  # fingerprint of the model that made the vectors
    vectors: str = ""
    text: str = ""  # folder of the text store; changes with compaction
    version: int = field(default=VERSION)
    public: bool = False  # whether all terms are from texts that everyone may see
    sum: int = 0  # checksum of the other fields; 0 if an older version wrote it

    def is_sound(self) -> bool:
        return self.sum in (0, _sum(self))

    def is_current(self, chunks: int, added: int, model: str, text: str = "") -> bool:
        """Whether it still fits an index of `chunks` chunks, of which `added` are new."""
        moved = added + max(0, self.chunks - (chunks - added))
        return self.model == model and self.text == text and moved <= MAX_CHANGED_SHARE * max(1, self.chunks)


def gather(texts: Iterable[str], most: int = MAX_TERMS) -> list[tuple[str, int]]:
    """Terms that occur in the most texts, with the number of texts; no stop words, numbers or very short words."""
    counts = Counter(chain.from_iterable(map(_terms, texts)))
    found: Counter[str] = Counter()
    for term, count in counts.items():
        if term.isascii():
            found[term] += count
        else:  # fold accents and split scripts without spaces, as the tokenizer does
            for word in set(tokens.words(term)):
                found[word] += count
    wanted = [
        (t, n)
        for t, n in found.items()
        if t not in tokens.QUESTION_WORDS and (len(t) >= MIN_TERM_LENGTH or not t.isascii())
    ]
    return sorted(wanted, key=lambda pair: (-pair[1], pair[0]))[:most]


_ASCII = re.compile(r"[a-z]{3,32}")
_VECTORS = re.compile(r"[a-z_]{1,40}-[0-9a-f]{1,40}\.npy")
_UNICODE = re.compile(r"[^\W\d_]{2,32}")


def _terms(text: str) -> set[str]:
    """Runs of letters: a quarter of the cost of full tokenizing."""
    low = text.lower()
    return set((_ASCII if low.isascii() else _UNICODE).findall(low))


def vocabulary(
    counted: Sequence[tuple[str, int]], chunks: int, last_row: int, model: str, text: str = "", name: str = PUBLIC
) -> Terms:
    """The vocabulary of gathered terms, with its checksum and the file name of its vectors."""
    terms = [term for term, _ in counted]
    digest = hashlib.blake2b("\0".join((model, *terms)).encode("utf8", "surrogatepass"), digest_size=8).hexdigest()
    vectors = f"{name}-{digest}.npy"
    made = Terms(terms, [n for _, n in counted], chunks, last_row, model, vectors, text, public=name == PUBLIC)
    return replace(made, sum=_sum(made))


def encode(terms: Terms) -> bytes:
    return json.dumps(asdict(terms), ensure_ascii=False).encode("utf8", "surrogatepass")


def decode(content: bytes | None) -> Terms | None:
    """Decoded vocabulary; None if there is no usable one."""
    try:
        decoded = Terms(**json.loads((content or b"").decode("utf8", "surrogatepass")))
        named = _VECTORS.fullmatch(decoded.vectors)
    except (ValueError, TypeError):
        return None
    sound = decoded.version == VERSION and decoded.is_sound() and len(decoded.terms) == len(decoded.frequencies)
    return decoded if sound and named else None


def _sum(terms: Terms) -> int:
    values = {key: value for key, value in asdict(terms).items() if key != "sum"}
    return crc32(repr(sorted(values.items())).encode("utf8", "surrogatepass")) or 1
