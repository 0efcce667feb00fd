"""Sparse encoder by words and related words: no trained model, thousands of texts a second.

A text's words are weighted as in BM25, but with a fixed average length, so that the weights depend on the text only.
Its strongest words also add their nearest words in the vocabulary of the static model, at a discount. A query is its
own words; the store weights them by rarity. Mean nDCG@10 over metatool, cranfield, zoomcamp_faq and scifact_train: own
words .626, query expanded .632, text expanded .639, both .642; the last step is not worth a model at query time.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from watersmeet.common import stems
from watersmeet.common.encodable import clean
from watersmeet.core import tokens
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.options import option
from watersmeet.core.sparse import Weighted
from watersmeet.embed.static import Static

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MIN_LENGTH = 3
_BLOCK = 256
_MAX_CACHED = 1 << 17
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Terms:
    """Sparse vectors of the words of a text and of related ones, by the static model."""

    remote: ClassVar[bool] = False
    quick: ClassVar[bool] = True

    related: int = option(3, "how many related words each strong word of a text adds; 0: none")
    strongest: int = option(20, "how many words of a text add related ones")
    discount: float = option(0.6, "weight of a related word, times its cosine")
    least: float = option(0.5, "the least cosine of a related word")
    k1: float = option(1.2, "how soon repetitions of a word stop counting (BM25)")
    b: float = option(0.75, "how much longer texts are discounted (BM25); 0: not at all")
    length: int = option(100, "text length in words that is not discounted")
    folder: str = option("", "the static model's folder; empty: the shipped potion-base-8M")

    @property
    def name(self) -> str:
        return "terms"

    @property
    def fingerprint(self) -> str:
        related = (self.related, self.strongest, self.discount, self.least) if self.related else ()
        settings = [tokens.VERSION, stems.VERSION, *related, self.k1, self.b, self.length]
        model = Static(self.folder).fingerprint if self.related else ""
        return hashlib.blake2b(f"{settings} {model}".encode(), digest_size=12).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        counted = [_counted(text) for text in texts]
        if not self.related:
            return [_weighted(self._own(words)) for words in counted]
        neighbours = _neighbours(self.folder, self.related, self.least)
        strong = [self._strong(words, neighbours) for words in counted]
        neighbours.learn({word for words in strong for word in words})
        return [_weighted(self._all(words, best, neighbours)) for words, best in zip(counted, strong, strict=True)]

    def encode_query(self, text: str) -> Weighted:
        import numpy as np

        words = tokens.words(clean(text))
        content = [word for word in words if word not in tokens.QUESTION_WORDS] or words
        terms = sorted({term_of(word) for word in content if word not in tokens.STOPWORDS})
        return Weighted(np.array(terms, dtype=np.int64), np.ones(len(terms), dtype=np.float32), rarely=True)

    def _own(self, words: Counter[str]) -> dict[int, float]:
        """BM25 weight of each term of a text."""
        terms: dict[int, float] = {}
        for word, count in words.items():
            term = term_of(word)
            terms[term] = terms.get(term, 0.0) + count
        ballast = self.k1 * (1 - self.b + self.b * words.total() / max(1, self.length))
        return {term: count * (self.k1 + 1) / (count + ballast) for term, count in terms.items()}

    def _strong(self, words: Counter[str], neighbours: _Neighbours) -> list[str]:
        """Strongest words of a text: frequent in it, and with a high weight in the static model."""
        weights = neighbours.strengths
        scores = {word: count / (count + self.k1) * weights[word] for word, count in words.items() if word in weights}
        return sorted(scores, key=lambda word: (-scores[word], word))[: self.strongest]

    def _all(self, words: Counter[str], strong: Sequence[str], neighbours: _Neighbours) -> dict[int, float]:
        own = self._own(words)
        added: dict[int, float] = {}
        for word in strong:
            full = self.discount * own[term_of(word)]
            left = self.related
            for term, cosine in neighbours.found[word]:
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
    """Term id of a word, by hash: the same in every index and process, so that no list is stored."""
    term = _terms.get(word)
    if term is None:
        if len(_terms) > _MAX_CACHED:
            _terms.clear()
        digest = hashlib.blake2b(stems.stem(word).encode(), digest_size=8).digest()
        term = _terms[word] = int.from_bytes(digest, "little") >> 1
    return term


_terms: dict[str, int] = {}


class _Related(NamedTuple):
    term: int
    cosine: float


class _Neighbours:
    """Words of the static model, with a cache of the nearest words of each."""

    def __init__(self, table: tuple[list[str], NDArray[np.float32], list[float]], wanted: int, least: float) -> None:
        self._words, self._vectors, strengths = table
        self.strengths = dict(zip(self._words, strengths, strict=True))
        self.found: dict[str, tuple[_Related, ...]] = {}
        self._places = {word: place for place, word in enumerate(self._words)}
        self._wanted = wanted + 5  # spare ones, since words of the text itself are skipped
        self._least = least

    def learn(self, words: set[str]) -> None:
        """Compute the nearest words of those that are not cached."""
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
        for place, candidates in zip(places, found, strict=True):
            terms = {term_of(self._words[place]): 0.0}  # itself, in any form
            for distance, other in sorted(candidates):
                terms.setdefault(term_of(self._words[other]), -distance)
            nearest = [_Related(term, round(cosine, 4)) for term, cosine in terms.items()]
            self.found[self._words[place]] = tuple(nearest[1 : self._wanted + 1])


def _neighbours(folder: str, wanted: int, least: float) -> _Neighbours:
    with _loading:
        return _cached_neighbours(folder, wanted, least)


@functools.lru_cache(maxsize=4)
def _cached_neighbours(folder: str, wanted: int, least: float) -> _Neighbours:
    return _Neighbours(_whole_words(folder), wanted, least)


@functools.lru_cache(maxsize=2)
def _whole_words(folder: str) -> tuple[list[str], NDArray[np.float32], list[float]]:
    """Words that are one token of the static model, their vectors at length 1, and their weights."""
    import numpy as np

    table = Static(folder).table()
    places = {
        word: place
        for word, place in table.tokenizer.whole().get_vocab().items()
        if word.isascii() and word.isalpha() and len(word) >= _MIN_LENGTH and word not in tokens.QUESTION_WORDS
    }
    words = sorted(places)
    ids = [places[word] for word in words]
    vectors = table.rows[ids].astype(np.float32)
    lengths = np.sqrt(np.square(vectors).sum(axis=1))
    usable = lengths > 0
    usable_words = [word for word, use in zip(words, usable.tolist(), strict=True) if use]
    strengths = (lengths * table.scales[ids])[usable]
    return usable_words, vectors[usable] / lengths[usable, None], strengths.tolist()
