"""Which terms is a text about, its own words and those that are near to them? No trained model, thousands a second.

A text's words count as in BM25, but against a fixed length, so that they depend on nothing but the text. Its strongest
words also add their nearest words in the vocabulary of the static model, at a discount. A query is its own words; the
store weighs them by rarity. Mean nDCG@10 over metatool, cranfield, zoomcamp_faq and scifact_train: own words .626,
query expanded .632, text expanded .639, both .642; the last step is not worth a model at query time.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from watersmeet.core import tokens
from watersmeet.core.options import option
from watersmeet.core.sparse import Weighted
from watersmeet.embed._common import clean
from watersmeet.embed.static import Static

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHORTEST = 3
_BLOCK = 256
_REMEMBERED = 1 << 17
_VOWEL = re.compile("[aeiouy]")
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Terms:
    remote: ClassVar[bool] = False
    quick: ClassVar[bool] = True

    related: int = option(3, "how many related words a strong word of a text adds; 0: none")
    strongest: int = option(20, "how many words of a text add related ones")
    discount: float = option(0.6, "what a related word counts, times its cosine")
    least: float = option(0.5, "the least cosine of a related word")
    k1: float = option(1.2, "how soon a repeated word counts no more")
    b: float = option(0.75, "how much a longer text counts less; 0: not at all")
    length: int = option(100, "a text of so many words counts as it is")
    folder: str = option("", "the static model's folder; empty: the shipped potion-base-8M")

    @property
    def name(self) -> str:
        return "terms"

    @property
    def fingerprint(self) -> str:
        related = (self.related, self.strongest, self.discount, self.least) if self.related else ()
        settings = [tokens.VERSION, *related, self.k1, self.b, self.length]
        model = Static(self.folder).fingerprint if self.related else ""
        return hashlib.blake2b(f"{settings} {model}".encode(), digest_size=12).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        counted = [_counted(text) for text in texts]
        if not self.related:
            return [_weighted(self._own(words)) for words in counted]
        near = _neighbours(self.folder, self.related, self.least)
        strong = [self._strong(words, near) for words in counted]
        near.learn({word for words in strong for word in words})
        return [_weighted(self._all(words, best, near)) for words, best in zip(counted, strong, strict=True)]

    def encode_query(self, text: str) -> Weighted:
        import numpy as np

        said = tokens.words(clean(text))
        meant = [word for word in said if word not in tokens.QUESTION_WORDS] or said
        terms = sorted({term_of(word) for word in meant if word not in tokens.STOPWORDS})
        return Weighted(np.array(terms, dtype=np.int64), np.ones(len(terms), dtype=np.float32), rarely=True)

    def _own(self, words: Counter[str]) -> dict[int, float]:
        """What each term of a text counts for it."""
        terms: dict[int, float] = {}
        for word, count in words.items():
            term = term_of(word)
            terms[term] = terms.get(term, 0.0) + count
        ballast = self.k1 * (1 - self.b + self.b * words.total() / max(1, self.length))
        return {term: count * (self.k1 + 1) / (count + ballast) for term, count in terms.items()}

    def _strong(self, words: Counter[str], near: _Neighbours) -> list[str]:
        """The words that say most: often used, and by the model's table not merely common."""
        known = near.strengths
        scores = {word: count / (count + self.k1) * known[word] for word, count in words.items() if word in known}
        return sorted(scores, key=lambda word: (-scores[word], word))[: self.strongest]

    def _all(self, words: Counter[str], strong: Sequence[str], near: _Neighbours) -> dict[int, float]:
        own = self._own(words)
        added: dict[int, float] = {}
        for word in strong:
            full = self.discount * own[term_of(word)]
            left = self.related
            for term, cosine in near.found[word]:
                if term not in own and left:
                    left -= 1
                    added[term] = max(added.get(term, 0.0), full * cosine)
        return own | added


def _counted(text: str) -> Counter[str]:
    counted = Counter(tokens.words(clean(text)))
    for word in tokens.STOPWORDS & counted.keys():
        del counted[word]
    return counted


def _weighted(terms: dict[int, float]) -> Weighted:
    import numpy as np

    count = len(terms)
    return Weighted(
        np.fromiter(terms.keys(), dtype=np.int64, count=count),
        np.fromiter(terms.values(), dtype=np.float32, count=count),
    )


def term_of(word: str) -> int:
    """The number of a word: the same in every index and every process, so that no list has to be kept."""
    term = _terms.get(word)
    if term is None:
        if len(_terms) > _REMEMBERED:
            _terms.clear()
        digest = hashlib.blake2b(stem(word).encode(), digest_size=8).digest()
        term = _terms[word] = int.from_bytes(digest, "little") >> 1
    return term


_terms: dict[str, int] = {}


def stem(word: str) -> str:
    """A word without its English endings: plural, -ed, -ing, -ly, and the e or y at the end."""
    if len(word) <= _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= _SHORTEST and _VOWEL.search(root):
            doubled = root[-1] == root[-2] and root[-1] not in "lsz"
            word = root[:-1] if doubled else root
            break
    if len(word) > _SHORTEST and word.endswith("e"):
        word = word[:-1]
    if len(word) > _SHORTEST and word.endswith("y"):
        word = word[:-1] + "i"
    return word


class _Near(NamedTuple):
    term: int
    cosine: float


class _Neighbours:
    """The static model's words, and for each that was asked for the nearest others."""

    def __init__(self, table: tuple[list[str], NDArray[np.float32], list[float]], wanted: int, least: float) -> None:
        self._words, self._vectors, strengths = table
        self.strengths = dict(zip(self._words, strengths, strict=True))
        self.found: dict[str, tuple[_Near, ...]] = {}
        self._places = {word: place for place, word in enumerate(self._words)}
        self._wanted = wanted + 5  # those that a text has itself are passed over
        self._least = least

    def learn(self, words: set[str]) -> None:
        """Find the nearest words of those that were never asked for before."""
        new = sorted(self._places[word] for word in words - self.found.keys())
        for start in range(0, len(new), _BLOCK):
            self._learn(new[start : start + _BLOCK])

    def _learn(self, places: list[int]) -> None:
        import numpy as np

        cosines = self._vectors[places] @ self._vectors.T
        found: list[list[tuple[float, int]]] = [[] for _ in places]
        numbers, others = np.nonzero(cosines >= self._least)
        for number, other, cosine in zip(
            numbers.tolist(), others.tolist(), cosines[numbers, others].tolist(), strict=True
        ):
            found[number].append((-cosine, other))
        for place, near in zip(places, found, strict=True):
            terms = {term_of(self._words[place]): 0.0}  # itself, in whatever form
            for distance, other in sorted(near):
                terms.setdefault(term_of(self._words[other]), -distance)
            nearest = [_Near(term, round(cosine, 4)) for term, cosine in terms.items()]
            self.found[self._words[place]] = tuple(nearest[1 : self._wanted + 1])


def _neighbours(folder: str, wanted: int, least: float) -> _Neighbours:
    with _loading:
        return _known(folder, wanted, least)


@functools.lru_cache(maxsize=4)
def _known(folder: str, wanted: int, least: float) -> _Neighbours:
    return _Neighbours(_whole_words(folder), wanted, least)


@functools.lru_cache(maxsize=2)
def _whole_words(folder: str) -> tuple[list[str], NDArray[np.float32], list[float]]:
    """The words that are one token of the static model, their vectors at length 1, and how much each of them says."""
    import numpy as np

    table = Static(folder).table()
    places = {
        word: place
        for word, place in table.tokenizer.get_vocab().items()
        if word.isascii() and word.isalpha() and len(word) >= _SHORTEST and word not in tokens.QUESTION_WORDS
    }
    words = sorted(places)
    ids = [places[word] for word in words]
    vectors = table.rows[ids].astype(np.float32)
    lengths = np.sqrt(np.square(vectors).sum(axis=1))
    usable = lengths > 0
    kept = [word for word, use in zip(words, usable.tolist(), strict=True) if use]
    strengths = (lengths * table.scales[ids])[usable]
    return kept, vectors[usable] / lengths[usable, None], strengths.tolist()
