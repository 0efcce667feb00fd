"""The checker of citations: does a passage support a statement, by its words or by its meaning?

A statement is compared with every run of up to three sentences of the passage. Numbers, units, identifiers and names of
the statement must be there, and so must its negations; then its words have to be there, rare words counting more than
common ones, or most of them if the meaning is near. It is a filter, not a proof: it does not see that two words have
changed places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from watersmeet.common.stems import stems
from watersmeet.core.tokens import QUESTION_WORDS, is_abbreviation, is_code, surfaces, words_of
from watersmeet.engine.ask.negation import conflict, spelled_out
from watersmeet.engine.ask.numbers import numbers, units
from watersmeet.present.quotable import pieces

ENOUGH = 0.75
"""Share of a statement's words, weighted, that a passage has to have."""
ENOUGH_IF_NEAR = 0.5
"""... if the meaning is near."""
NEAR = 0.75
"""Cosine from which the meaning is near."""
VETO = 0.8
"""Share of the words from which one sentence that contradicts a statement decides: no sentence beside it helps."""
MAX_RUN = 3
"""Sentences of a passage that a statement is compared with."""
MAX_PASSAGE = 20_000
"""Characters of a passage that are read."""

Weights = Callable[[Sequence[str]], Sequence[float]]
"""Weights of words: rare ones count more."""
Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Similarity of a text to each of others, at most 1."""


def equal_weights(words: Sequence[str]) -> Sequence[float]:
    return [1.0] * len(words)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check; `quote` are the sentences that are nearest to the statement."""

    supported: bool
    coverage: float
    quote: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage to check against: its text, and the title and headings above it."""

    text: str
    above: str = ""


@dataclass(frozen=True, slots=True)
class Checker:
    """The checker. `weights`: of words, from the index; `similarity`: of two texts, if there is a model for it."""

    weights: Weights = equal_weights
    similarity: Similarity | None = None
    enough: float = field(default=ENOUGH)

    def check(self, statement: str, passage: Evidence) -> Verdict:
        claim = _read(statement)
        if not claim.words:
            return Verdict(False, 0.0, "", "it says nothing that could be checked")
        weights = dict(zip(claim.words, self.weights(claim.words), strict=True))
        best = Verdict(False, -1.0)
        contradicted: set[int] = set()
        for at, length, run in _runs(passage.text[:MAX_PASSAGE]):
            if contradicted.intersection(range(at, at + length)):
                continue
            found = self._compare(claim, weights, run, passage.above)
            if length == 1 and not found.supported and found.coverage >= VETO:
                contradicted.add(at)
            if (found.supported, found.coverage) > (best.supported, best.coverage):
                best = found
        return best if best.coverage >= 0 else Verdict(False, 0.0, "", "the passage has no sentences")

    def _compare(self, claim: Reading, weights: dict[str, float], run: str, above: str) -> Verdict:
        there = _read(run)
        present = there.stems | _read(above).stems if above else there.stems
        total = sum(weights.values()) or 1.0
        matched = [word for word in claim.words if claim.stem_of[word] in present]
        coverage = sum(weights[word] for word in matched) / total
        if coverage < ENOUGH_IF_NEAR:
            return Verdict(False, coverage, run, "the passage has other words")
        if missing := claim.numbers - there.numbers - _read(above).numbers:
            return Verdict(False, coverage, run, f"the passage does not have the number {sorted(missing)[0]}")
        if other := claim.units - there.units - _read(above).units:
            return Verdict(False, coverage, run, f"the passage does not have the unit {sorted(other)[0]}")
        if absent := claim.names - there.tokens - _read(above).tokens:
            return Verdict(False, coverage, run, f"the passage does not name {sorted(absent)[0]}")
        if words := conflict(claim.text, there.text):
            return Verdict(False, coverage, run, words)
        if coverage >= self.enough:
            return Verdict(True, coverage, run)
        if self.similarity is not None and self.similarity(claim.text, [run])[0] >= NEAR:
            return Verdict(True, coverage, run)
        return Verdict(False, coverage, run, "the passage has other words")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the checker compares of a text. `words` are its content words, `names` its identifiers and names."""

    text: str
    words: tuple[str, ...]
    stem_of: dict[str, str]
    stems: frozenset[str]
    tokens: frozenset[str]
    numbers: Counter[str]
    units: frozenset[str]
    names: frozenset[str]


_MARKUP = re.compile(
    r"(?<!\w)[*_]{1,3}(?=[\w`\"“])|(?<=[\w.,:!?`)\"”])[*_]{1,3}(?!\w)|"
    r"^[ \t]{0,40}(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)[ \t]+",
    re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,2000}\)")
_WIKI = re.compile(r"\[\[(?:[^\[\]|]{0,300}\|)?([^\[\]|]{0,300})\]\]")


def plain(text: str) -> str:
    """Text without the marks of Markdown; what a link says stays."""
    return " ".join(_MARKUP.sub("", _WIKI.sub(r"\1", _LINK.sub(r"\1", text))).split())


@lru_cache(512)
def _read(text: str) -> Reading:
    shown = spelled_out(plain(text))
    found = surfaces(shown)
    every = {word: None for surface in found for word in words_of(surface)}
    content = tuple(word for word in every if word not in QUESTION_WORDS and not word.isdigit())
    stem_of = dict(zip(content, stems(content), strict=True))
    tokens = frozenset(part for surface in found for part in (surface.lower(), *words_of(surface)))
    return Reading(
        shown,
        content,
        stem_of,
        frozenset(stem_of.values()),
        tokens,
        numbers(shown),
        units(shown),
        frozenset(_names(shown, found)),
    )


_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+)[\"'“‘(*`]*$")


def _names(text: str, found: Sequence[str]) -> Iterable[str]:
    """Identifiers of a text, and capitalised words that do not begin a sentence, in lower case."""
    at = 0
    for surface in found:
        start = text.find(surface, at)
        at = start + len(surface) if start >= 0 else at
        digits = any(character.isdigit() for character in surface)
        if is_code(surface) and not surface.replace(".", "").replace(",", "").isdigit():
            if digits or "_" in surface or surface.startswith("-") or not is_abbreviation(surface):
                yield surface.lower()
        elif surface[:1].isupper() and len(surface) > 1 and start > 0 and not _SENTENCE_START.search(text[:start][-8:]):
            yield surface.lower()


def _runs(text: str) -> list[tuple[int, int, str]]:
    """Runs of up to three neighbouring sentences, the short ones first: number of the first, length and text."""
    found = pieces(text)
    return [
        (at, length, text[found[at].start : found[at + length - 1].end])
        for length in range(1, MAX_RUN + 1)
        for at in range(len(found) - length + 1)
    ]
