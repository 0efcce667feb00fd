"""Spelling: query words as the corpus writes them.

Words that the corpus has are never replaced. Of a word that it lacks, in this order:
- the hyphenated form, if the corpus has it: `email` is searched as `e-mail`;
- one typing error is corrected (a letter too many, missing, wrong, or two neighbours swapped), if the word has at least
  `min_letters` letters and is no common English word;
- it is split into two words that stand side by side in the corpus: `nationalparks` is searched as `national parks`;
- in a long word, two frequent errors (a wrong vowel, a letter once instead of twice or the reverse) are corrected.
Two neighbouring words are searched as one word too, if the corpus has it: `national parks` finds `nationalparks`.
Identifiers are not corrected: one that is absent is absent. Only a last letter behind the number of a name may differ:
`FOXO3` and `FoxO3a`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from string import ascii_lowercase

from watersmeet.common.english import is_english
from watersmeet.common.stems import stem, stems
from watersmeet.core import tokens
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Condition, Plan, Respelling
from watersmeet.core.options import option
from watersmeet.core.passages import passage_text
from watersmeet.core.ports import PassageReader, Term, Words

FIELDS = ("body", "title", "names", "tags")
"""Fields in which a word is looked up; headings are part of the body."""
PARTICLES = frozenset("by down in off on out over up".split())
"""Stop words that are the end of a compound: log in, set up."""
MIN_PART = 3
"""Letters of each part of a compound, but for particles and hyphenated words."""
MIN_NAME = 7
"""Letters of a capitalised word inside a query that is corrected: shorter names are near to too many words."""
MAX_READ = 20
"""Chunks that are read to see whether a word, or two side by side, are written so."""
MAX_CANDIDATES = 3
"""The most frequent candidates, of which the first that is written so is taken."""
MAX_UNKNOWN = 5
"""Unknown words of a query that are looked at; a pasted text in another language has more."""
VOWELS, DOUBLED = "aeiou", "cflmnprst"
"""Letters that are taken for each other, and letters that are written once or twice by error."""
_NUMBERED = re.compile(r"([a-z]{3,}\d{1,2})([a-z]?)")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Spelling:
    """A query step that replaces words that the corpus lacks, and adds compounds that it has."""

    words: Words | None = None
    view: PassageReader | None = None
    min_letters: int = option(5, "shorter words are not corrected")
    two_errors: int = option(9, "two errors are corrected in a word of at least so many letters")
    compounds: bool = option(True, "join neighbouring words, and split unknown ones")
    compound_weight: float = option(0.5, "weight of a joined word beside the two that the corpus has too")

    def apply(self, plan: Plan) -> Plan:
        if self.words is None or self.view is None or plan.respelled or not plan.words:
            return plan
        corpus = _Corpus(self.words, self.view, plan.condition)
        pieces = list(_pieces(plan.text))
        unknown = corpus.unknown(plan.words)
        found = [
            Respelling(" ".join(pair), ("".join(pair),), instead=not set(unknown).isdisjoint(pair))
            for pair in (_joined(pieces, corpus) if self.compounds else ())
        ]
        joined = {word for one in found for word in one.word.split()}
        plain = {piece for group in pieces for piece in group if piece.isalpha() and piece.isascii()}
        for word in [word for word in unknown if word not in joined][:MAX_UNKNOWN]:
            is_name = word in plan.names and len(plan.words) > 1
            written = self._spelled(word, is_name, corpus) if word in plain else _numbered(word, corpus)
            found += [Respelling(word, written)] if written else []
        if not found:
            return plan
        instead = {word: one.written for one in found if one.instead for word in one.word.split() if word in unknown}
        words = tuple(dict.fromkeys(part for word in plan.words for part in instead.get(word, (word,))))
        joined_words = {one.written[0]: self.compound_weight for one in found if not one.instead}
        return replace(plan, words=words, variants={**plan.variants, **joined_words}, respelled=tuple(found))

    def _spelled(self, word: str, is_name: bool, corpus: _Corpus) -> tuple[str, ...]:
        """A word that the corpus lacks, as it writes it; empty if it does not."""
        if self.compounds and (parts := _hyphenated(word, corpus)):
            return parts
        min_letters = max(self.min_letters, MIN_NAME) if is_name else self.min_letters
        correctable = len(word) >= min_letters and not is_english(word)
        if correctable:
            once = _one_error(word)
            if not once.isdisjoint(tokens.QUESTION_WORDS):
                return ()
            if corrected := corpus.most_frequent(_plausible(word, once)):
                return (corrected,)
        if self.compounds and (parts := _split(word, corpus)):
            return parts
        if correctable and len(word) >= self.two_errors:
            corrected = corpus.most_frequent(_plausible(word, _two_errors(word)))
            return (corrected,) if corrected else ()
        return ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Corpus:
    """Look-ups of words in what a request may find: nothing else may show in a correction."""

    words: Words
    view: PassageReader
    condition: Condition

    def unknown(self, words: Sequence[str]) -> list[str]:
        """Words that are in no field."""
        for field in FIELDS:
            words = [word for word, count in zip(words, self.counts(words, field), strict=True) if not count]
        return list(words)

    def counts(self, words: Sequence[str], field: str = "body") -> list[int]:
        return self.words.frequencies(field, words) if words else []

    def most_frequent(self, candidates: Iterable[str]) -> str:
        """The candidate in the most chunks, of equal ones the first by alphabet; empty if none is written."""
        ordered = sorted(candidates)
        best = sorted((-count, word) for word, count in zip(ordered, self.counts(ordered), strict=True) if count)
        return next((word for _, word in best[:MAX_CANDIDATES] if self.is_written(word)), "")

    def is_written(self, word: str) -> bool:
        """Whether a chunk has this very word: the text store has stems and parts of identifiers."""
        written = re.compile(rf"(?<![^\W_])({word}|{word.title()}|{word.upper()})(?![^\W_])")
        return any(written.search(text) for text in self._texts(word))

    def side_by_side(self, first: str, second: str) -> bool:
        """Whether a chunk has these two words one after the other."""
        pair = (stem(first), stem(second))
        return any(pair in pairwise(stems(tokens.words(text))) for text in self._texts(first, second))

    def has_form(self, form: str) -> bool:
        return bool(self.words.match([Term("forms", form)], self.condition, 1))

    def _texts(self, *words: str) -> Iterator[str]:
        """The texts of the chunks that match these words best."""
        found = self.words.match([Term("body", word) for word in words], self.condition, MAX_READ)
        for passage in self.view.passages([chunk for chunk, _ in found]).values():
            yield passage_text(passage)


def _joined(pieces: Sequence[Sequence[str]], corpus: _Corpus) -> list[tuple[str, str]]:
    """Neighbouring words that the corpus has as one word."""
    hyphenated = [pair for group in pieces for pair in pairwise(group) if not tokens.STOPWORDS.issuperset(pair)]
    neighbours = [(first[0], second[0]) for first, second in pairwise(pieces) if len(first) == len(second) == 1]
    pairs = dict.fromkeys([*hyphenated, *(pair for pair in neighbours if _is_compound(*pair))])
    candidates = [pair for pair in pairs if not "".join(pair).isdigit()]
    counts = corpus.counts(["".join(pair) for pair in candidates])
    present = [pair for pair, count in zip(candidates, counts, strict=True) if count]
    return [pair for pair in present[:MAX_CANDIDATES] if corpus.is_written("".join(pair))]


def _numbered(word: str, corpus: _Corpus) -> tuple[str, ...]:
    """A name with a number that the corpus has with a letter behind it, or without one."""
    name = _NUMBERED.fullmatch(word)
    if name is None:
        return ()
    other = corpus.most_frequent([name[1]] if name[2] else [name[1] + letter for letter in ascii_lowercase])
    return (other,) if other else ()


def _hyphenated(word: str, corpus: _Corpus) -> tuple[str, ...]:
    splits = [(word[:at], word[at:]) for at in range(1, len(word))] if len(word) > MIN_PART else []
    counts = corpus.counts(["-".join(split) for split in splits], "forms")
    present = [split for split, count in zip(splits, counts, strict=True) if count]
    return next((split for split in present if corpus.has_form("-".join(split))), ())


def _split(word: str, corpus: _Corpus) -> tuple[str, ...]:
    splits = [(word[:at], word[at:]) for at in range(MIN_PART, len(word) - MIN_PART + 1)]
    splits = [split for split in splits if tokens.QUESTION_WORDS.isdisjoint(split)]
    firsts, seconds = (corpus.counts([split[n] for split in splits]) for n in (0, 1))
    counts = map(min, firsts, seconds)
    best = sorted((-count, split) for split, count in zip(splits, counts, strict=True) if count)
    return next((split for _, split in best[:MAX_CANDIDATES] if corpus.side_by_side(*split)), ())


def _pieces(text: str) -> Iterator[list[str]]:
    """Each token of the query as its hyphenated parts, in lower case; identifiers of other kinds are one empty list."""
    for surface in tokens.surfaces(text):
        parts = surface.lower().split("-")
        words = all(part.isalnum() for part in parts) and (len(parts) > 1 or surface.islower() or surface.istitle())
        yield parts if words else []


def _is_compound(first: str, second: str) -> bool:
    if not (first.isalpha() and second.isalpha()) or first in tokens.QUESTION_WORDS or len(first) < MIN_PART:
        return False
    return second in PARTICLES or (second not in tokens.QUESTION_WORDS and len(second) >= MIN_PART)


def _plausible(word: str, candidates: Iterable[str]) -> list[str]:
    """Candidates with the word's first letter, which is seldom wrong, or with its first two swapped."""
    return [other for other in candidates if other[0] == word[0] or other[:2] == word[1::-1]]


def _one_error(word: str) -> set[str]:
    """All words at one typing error."""
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = {head + tail[1:] for head, tail in splits if tail}
    found |= {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    found |= {head + letter + tail[1:] for head, tail in splits if tail for letter in ascii_lowercase}
    found |= {head + letter + tail for head, tail in splits for letter in ascii_lowercase}
    found.discard(word)
    return found


def _two_errors(word: str) -> set[str]:
    """Words at two frequent errors."""
    return {other for once in _frequent_errors(word) for other in _frequent_errors(once)} - {word}


def _frequent_errors(word: str) -> set[str]:
    splits = [(word[:at], word[at:]) for at in range(len(word))]
    found = {head + vowel + tail[1:] for head, tail in splits if tail[0] in VOWELS for vowel in VOWELS}
    found |= {head + tail[0] + tail for head, tail in splits if tail[0] in DOUBLED}
    return found | {head + tail[1:] for head, tail in splits if tail[:1] == tail[1:2]}
