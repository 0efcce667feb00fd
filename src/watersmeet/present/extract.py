"""Extractive answers: the sentences of the passages that answer a question best, quoted verbatim. No model is needed.

A piece counts by the words that it shares with the question, rare words in these passages more than common ones; by the
headings above it and the sentences around it; by its place in the passage and the rank of the passage; and, if given,
by similarity of meaning.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from watersmeet.common.stems import stems
from watersmeet.core.tokens import QUESTION_WORDS, words
from watersmeet.present.quotable import MAX_PIECE, Piece, pieces

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Similarity of a question to each of these texts, at most 1."""

_HEADING = 0.6
"""Weight of a word that only the title or a heading above shares with the question."""
_NEIGHBOUR = 0.3
"""Weight of a word that only the sentence before or after shares."""
_ANSWERED = 0.8
"""Weight of a word of the question that stands right before in the text."""
_RANK = 0.8
"""Factor for each passage that ranks before."""
_FOLLOWING = 0.02
"""Share lost with each piece that stands before in the passage, five at most."""
_QUESTION = 0.3
"""Factor for a piece that is a question itself."""
_SHORT = 0.7
"""Factor for a piece of fewer words than `_FEW_WORDS`."""
_FEW_WORDS = 3
_LONG = 40
"""Words from which a piece counts less: the longer it is, the more words it shares by chance."""
_UNRELATED = 0.7
"""Factor for a piece without a word of the question: only what is around it fits."""
_CUE = 1.15
"""Factor for a piece of the form that the question asks for."""
_ELSEWHERE = 0.85
"""Factor for a piece of another passage than the best piece's."""
_NEXT = 1.15
"""Factor for a piece right beside the best one."""
_LEAST = 0.6
"""Share of the best score that a further quote needs."""
_SAME = 0.8
"""Share of common words from which two pieces say the same."""
_MEANING = 0.3
"""Share of the score that similarity decides."""

_CUES = tuple(
    (re.compile(opening, re.IGNORECASE), re.compile(form, re.IGNORECASE))
    for opening, form in (
        (
            r"^(?:how (?:many|much|long|often|old)|when|since when|what (?:time|date|year|day))\b",
            r"\d|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b",
        ),
        (r"^why\b|\breason\b", r"\b(?:because|since|due to|so that|reason|caused?|as a result)\b"),
        (
            r"^(?:is|are|am|can|could|do|does|did|will|would|should|may|must|has|have)\b",
            r"^\W*(?:yes|no|not|yeah|nope|you can)\b",
        ),
        (
            r"\b(?:fix|error|issue|problem|fail\w*|resolve|solve|troubleshoot)\b",
            r"\b(?:solution|solved?|fix(?:ed)?|resolved?|try|instead)\b",
        ),
        (
            r"^how\b|\bsteps?\b",
            r"^\W*(?:run|use|open|add|set|go|install|create|click|select|you (?:can|need|should|must))\b|`",
        ),
    )
)
"""How a question begins, and a form of its answer. English alone: in other languages, no form counts more."""


class Text(Protocol):
    """A passage; its `title` and `headings` are used if it has them."""

    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim part of a passage; `passage` is the passage's index, `score` is from 0 to 1."""

    passage: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A piece that may be quoted, from `start` to `end`; `above` are the stems of title and headings."""

    passage: int
    place: int
    piece: Piece
    stems: frozenset[str]
    above: frozenset[str]
    start: int
    end: int
    score: float = 0.0

    @property
    def question(self) -> bool:
        return self.piece.kind != "code" and self.piece.text.rstrip("\"'”’)*_ ").endswith(("?", "？"))

    def covers(self, other: _Candidate) -> bool:
        return self.passage == other.passage and self.start <= other.piece.start < self.end

    def repeats(self, other: _Candidate) -> bool:
        return len(self.stems & other.stems) >= _SAME * max(len(self.stems | other.stems), 1)


def extract(
    question: str, passages: Sequence[Text], *, most: int = 3, similarity: Similarity | None = None
) -> list[Quote]:
    """The best pieces for a question, at most `most`, in the order of the passages and within them.

    `passages` stand in their rank order. If nothing shares a word with the question, the beginning of the first passage
    is quoted, with a score of 0.
    """
    candidates = [candidate for number, passage in enumerate(passages) for candidate in _candidates(number, passage)]
    if not candidates or most < 1:
        return []
    wanted = _stems(word for word in words(question) if word not in QUESTION_WORDS) or _stems(words(question))
    scores = _word_scores(wanted, candidates)
    if similarity is not None:
        near = similarity(question, [candidate.piece.text for candidate in candidates])
        scores = [(1 - _MEANING) * score + _MEANING * max(float(x), 0.0) for score, x in zip(scores, near, strict=True)]
    cue = _cue(question)
    scores = [score * _factor(candidate, wanted, cue) for score, candidate in zip(scores, candidates, strict=True)]
    chosen = _chosen([replace(c, score=min(score, 1.0)) for c, score in zip(candidates, scores, strict=True)], most)
    chosen.sort(key=lambda candidate: (candidate.passage, candidate.place))
    return [Quote(c.passage, passages[c.passage].text[c.start : c.end], round(c.score, 4)) for c in chosen]


def _candidates(number: int, passage: Text) -> list[_Candidate]:
    title = " ".join((getattr(passage, "title", ""), *getattr(passage, "headings", ())))
    found = pieces(passage.text)
    spans: list[tuple[int, int]] = []
    for place, piece in enumerate(found):
        start = piece.start
        if place and piece.kind in ("code", "table") and spans[-1][1] >= piece.end:
            start = spans[-1][0]  # with the sentence that introduces it
        spans.append((start, _end(found, place)))
    return [
        _Candidate(number, place, piece, _stems(words(piece.text)), _stems(words(f"{title} {piece.headings}")), *span)
        for place, (piece, span) in enumerate(zip(found, spans, strict=True))
    ]


def _stems(found: Iterable[str]) -> frozenset[str]:
    return frozenset(stems(list(found)))


def _end(found: list[Piece], place: int) -> int:
    """The end of a piece's quote. What a piece with a colon introduces is quoted with it: code, a list, lines."""
    piece = found[place]
    end = piece.end
    if piece.introduces:
        kind, block = "", piece.block
        for after in found[place + 1 :]:
            if after.end - piece.start > MAX_PIECE or after.introduces or after.headings != piece.headings:
                break
            if kind and (after.kind != kind or (kind != "item" and after.block != block)):
                break
            kind, block, end = after.kind, after.block, after.end
    return end


def _word_scores(wanted: frozenset[str], candidates: list[_Candidate]) -> list[float]:
    """Share of the question's words that each piece has, weighted by how rare they are in these passages."""
    count = Counter(stem for candidate in candidates for stem in candidate.stems & wanted)
    weights = {stem: math.log(1 + (len(candidates) + 1) / (count[stem] + 0.5)) for stem in wanted}
    total = sum(weights.values()) or 1.0
    scores = []
    for at, candidate in enumerate(candidates):
        shares = dict.fromkeys(wanted & candidate.above, _HEADING)
        for other, weight in ((at - 1, _NEIGHBOUR), (at + 1, _NEIGHBOUR)):
            if 0 <= other < len(candidates) and candidates[other].passage == candidate.passage:
                answered = other < at and candidates[other].question
                for stem in wanted & candidates[other].stems:
                    shares[stem] = max(shares.get(stem, 0.0), _ANSWERED if answered else weight)
        shares |= dict.fromkeys(wanted & candidate.stems, 1.0)
        scores.append(sum(weights[stem] * share for stem, share in shares.items()) / total)
    return scores


def _factor(candidate: _Candidate, wanted: frozenset[str], cue: re.Pattern[str] | None) -> float:
    length = len(candidate.piece.text.split())
    factor = math.pow(_RANK, candidate.passage) * math.pow(min(1.0, _LONG / max(length, 1)), 0.2)
    factor *= 1 - _FOLLOWING * min(candidate.place, 5)
    if candidate.question:
        return factor * _QUESTION
    if cue is not None and cue.search(candidate.piece.text):
        return factor * _CUE
    if candidate.end == candidate.piece.end and length < _FEW_WORDS:
        factor *= _SHORT
    if candidate.place and not wanted & candidate.stems:
        factor *= _UNRELATED
    return factor


def _cue(question: str) -> re.Pattern[str] | None:
    """The form of an answer, by how the question begins."""
    return next((form for opening, form in _CUES if opening.search(question)), None)


def _chosen(candidates: list[_Candidate], most: int) -> list[_Candidate]:
    """The best candidate and others that fit it, without those that another contains or repeats."""
    best = max(candidates, key=lambda candidate: candidate.score)
    scored = [replace(one, score=min(one.score * _beside(one, best), best.score)) for one in candidates]
    chosen: list[_Candidate] = []
    for candidate in sorted(scored, key=lambda one: (-one.score, one.piece is not best.piece)):
        if len(chosen) == most or (chosen and candidate.score < max(_LEAST * best.score, 1e-9)):
            break
        if not any(candidate.covers(other) or other.covers(candidate) or candidate.repeats(other) for other in chosen):
            chosen.append(candidate)
    return chosen


def _beside(candidate: _Candidate, best: _Candidate) -> float:
    if candidate.passage != best.passage:
        return _ELSEWHERE
    return _NEXT if abs(candidate.place - best.place) == 1 else 1.0
