"""The concept vocabulary: the most frequent terms of a corpus, with their frequencies and vectors.

The file name of the vectors changes with the terms and with the model, so that vectors never belong to other terms.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field, fields, replace
from itertools import chain, islice
from typing import Any
from zlib import crc32

from watersmeet.core import tokens
from watersmeet.core.lazy_dataclass import dataclass

PUBLIC, PRIVATE = "concept_vocabulary", "private_vocabulary"
"""Names of the vocabulary of public texts and of that of the other texts."""
VERSION = 2
MAX_TERMS = 20_000
MIN_TERM_LENGTH = 3
MAX_TERM_LENGTH = 32
MAX_SWITCHES = 3
"""Changes between letters and digits in a name such as `k8s` or `v1beta1`; hashes and keys have more."""
MAX_CHANGED_SHARE = 0.05
"""Share of added and removed chunks above which all texts are read again. Below, terms of added chunks are added, and
those of removed chunks stay."""
MAX_COUNTED = 400_000
"""Terms counted at a time, about 60 MB; beyond, the rarest are dropped. 26,000 chunks of Markdown have 60,000."""
WINDOW = 1_000
"""Texts between two looks at the number of terms."""


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
    changes: int = 0  # chunks added and removed since all texts were read
    sum: int = 0  # checksum of the other fields; 0 if an older version wrote it

    def is_sound(self) -> bool:
        return self.sum in (0, _sum(self))

    def is_current(self, chunks: int, added: int, model: str, text: str = "") -> bool:
        """Whether it still fits an index of `chunks` chunks, of which `added` are new, once their terms are added."""
        same = self.version == VERSION and self.model == model and self.text == text
        return same and self.changed(chunks, added) <= MAX_CHANGED_SHARE * max(1, self.chunks)

    def changed(self, chunks: int, added: int) -> int:
        """Chunks added and removed since all texts were read."""
        return self.changes + added + max(0, self.chunks - (chunks - added))

    def with_added(self, counted: Sequence[tuple[str, int]], chunks: int, added: int, last_row: int) -> Terms:
        """These terms and those of added chunks. If no term is new, the order and the vectors stay."""
        frequencies = dict(zip(self.terms, self.frequencies, strict=True))
        for term, count in counted:
            frequencies[term] = frequencies.get(term, 0) + count
        most_frequent = list(frequencies.items())
        if len(most_frequent) > MAX_TERMS:
            most_frequent = sorted(most_frequent, key=lambda pair: (-pair[1], pair[0]))[:MAX_TERMS]
            if {term for term, _ in most_frequent} == set(self.terms):
                most_frequent = [(term, frequencies[term]) for term in self.terms]
        name = PUBLIC if self.public else PRIVATE
        made = vocabulary(most_frequent, chunks, last_row, self.model, self.text, name)
        made = replace(made, changes=self.changed(chunks, added))
        return replace(made, sum=_sum(made))


def gather(texts: Iterable[str], most: int = MAX_TERMS) -> list[tuple[str, int]]:
    """Terms that occur in the most texts, with the number of texts: words, and names with digits such as `oauth2`; no
    stop words, numbers or very short words."""
    found: Counter[str] = Counter()
    for term, count in _counted(texts).items():
        if term.isascii():
            found[term] += count
        else:  # fold accents and split scripts without spaces, as the tokenizer does
            for word in set(tokens.words(term)):
                found[word] += count
    wanted = ((t, n) for t, n in found.items() if t not in tokens.QUESTION_WORDS and _is_term(t))
    return sorted(wanted, key=lambda pair: (-pair[1], pair[0]))[:most]


def _counted(texts: Iterable[str]) -> Counter[str]:
    """Number of texts of each run of letters and digits; of very many runs, only the more frequent ones."""
    counts: Counter[str] = Counter()
    rest = iter(texts)
    while window := list(islice(rest, WINDOW)):
        counts.update(chain.from_iterable(map(_runs, window)))
        rare = 0
        while len(counts) > MAX_COUNTED:
            rare += 1
            counts = Counter({term: count for term, count in counts.items() if count > rare})
    return counts


_ASCII = re.compile(r"[a-z0-9]{2,}")
_UNICODE = re.compile(r"[^\W_]{2,}")
_SWITCH = re.compile(r"(?<=\d)(?=\D)|(?<=\D)(?=\d)")
_VECTORS = re.compile(r"[a-z_]{1,40}-[0-9a-f]{1,40}\.npy")


def _runs(text: str) -> set[str]:
    """Runs of letters and digits: a quarter of the cost of full tokenizing."""
    low = text.lower()
    return set((_ASCII if low.isascii() else _UNICODE).findall(low))


def _is_term(text: str) -> bool:
    """Whether a run is a word or a name: not a number with its unit, too short, or a mixture as in a hash."""
    if len(text) > MAX_TERM_LENGTH or not text[0].isalpha():
        return False
    if text.isalpha():
        return len(text) >= MIN_TERM_LENGTH or not text.isascii()
    return len(_SWITCH.findall(text)) <= MAX_SWITCHES


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
    return json.dumps(_values(terms), ensure_ascii=False).encode("utf8", "surrogatepass")


def decode(content: bytes | None) -> Terms | None:
    """Decoded vocabulary; None if there is no usable one."""
    try:
        decoded = Terms(**json.loads((content or b"").decode("utf8", "surrogatepass")))
        named = _VECTORS.fullmatch(decoded.vectors)
    except (ValueError, TypeError):
        return None
    sound = decoded.version in (1, VERSION) and decoded.is_sound() and len(decoded.terms) == len(decoded.frequencies)
    return decoded if sound and named else None


def _values(terms: Terms) -> dict[str, Any]:
    """As `asdict`, without a copy of the lists."""
    return {each.name: getattr(terms, each.name) for each in fields(terms)}


def _sum(terms: Terms) -> int:
    later = {"changes"} if terms.version == 1 else set()
    values = {key: value for key, value in _values(terms).items() if key not in {"sum", *later}}
    return crc32(repr(sorted(values.items())).encode("utf8", "surrogatepass")) or 1
