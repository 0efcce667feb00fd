"""How sure is the answer? And is there one at all?

A logistic model of whether one of the first three results answers the query, learnt from queries that the documents
answer and from queries of other collections, which they do not (benchmarks/confidence.py; docs/decisions/0009). It
looks at what the words of the query and the results share, at whether words and meaning agree, at how far the first is
ahead, and at how near it is beside how near these documents are to one another: no cosine is taken at its face value,
since what is near in one collection is far in another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.core.model import ChunkId, DocId, Passage, Plan, Ranking
from watersmeet.core.ports import Words
from watersmeet.core.statistics import lead
from watersmeet.core.tokens import forms, identifiers, is_code
from watersmeet.core.tokens import words as words_of
from watersmeet.core.word_endings import alike

READ = 3
"""How many results are looked into."""
AGREE = 10
"""How many documents of each side are compared; of a few, a quarter: anybody agrees on all that there is."""
IDENTIFIER_FLOOR = 0.8
"""How sure it is at least where a query made of identifiers, to a third or more, has them all in the first result, or
is wholly what one of the first results is known for."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """Weights of the features, and the probability below which nothing fits."""

    constant: float
    weights: Mapping[str, float]
    threshold: float

    def probability(self, features: Mapping[str, float]) -> float:
        odds = self.constant + math.fsum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


MODELS = {
    "dense": Model(
        -4.559,
        {
            "shared": 4.334,
            "endings": 0.731,
            "agreed": 1.95,
            "near": 9.404,
            "length": 0.998,
            "lead": 0.535,
            "lexical_lead": 0.292,
        },
        0.552,
    ),
    "static": Model(
        -5.219,
        {
            "shared": 4.863,
            "endings": 1.298,
            "agreed": 2.234,
            "near": 2.288,
            "length": 1.058,
            "lead": 0.303,
            "lexical_lead": 0.393,
        },
        0.499,
    ),
    "words": Model(
        -4.67,
        {"shared": 5.069, "endings": 0.317, "unknown": -0.733, "length": 1.09, "lexical_lead": 0.365},
        0.499,
    ),
}
"""By what voted beside the words."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Confidence:
    probability: float
    fits: bool


class ConfidenceInput(NamedTuple):
    """What a query asked for, and what came of it.

    Its first passages, what their documents are called by besides their titles, what they are known for that stands in
    no text, and whose the rankings' first chunks are.
    """

    plan: Plan
    rankings: Sequence[Ranking]
    read: Sequence[Passage]
    names: Mapping[DocId, frozenset[str]]
    words: Words
    owners: Mapping[ChunkId, int]
    levels: Mapping[str, float]
    registry_words: Mapping[DocId, frozenset[str]] = {}


def confidence(context: ConfidenceInput) -> Confidence | None:
    """None if there was nothing to look for, only filters."""
    if not context.read:
        return Confidence(0.0, False)
    if not context.plan.words:
        return None
    name = voted(context.rankings, context.levels)
    probability = MODELS[name].probability(features(name, context))
    if probability < IDENTIFIER_FLOOR and (_holds_identifiers(context) or _known_for(context)):
        probability = IDENTIFIER_FLOOR
    return Confidence(round(probability, 4), probability >= MODELS[name].threshold)


def voted(rankings: Sequence[Ranking], levels: Mapping[str, float]) -> str:
    """Which model speaks: the one of the best signal that knows meaning, if the words have voted too."""
    by = {ranking.by for ranking in rankings if ranking.hits}
    return next((name for name in ("dense", "static") if {name, "lexical"} <= by and levels.get(name)), "words")


def features(name: str, context: ConfidenceInput) -> dict[str, float]:
    by = {ranking.by: ranking for ranking in context.rankings if ranking.hits}
    frequency = {word: context.words.frequency("body", word) for word in context.plan.words}
    telling = {word: math.log(1 + context.words.size / (1 + count)) for word, count in frequency.items()}
    whole = math.fsum(telling.values())
    shared, nearly = _shared(telling, context)
    found = {
        "shared": shared / whole,
        "endings": (nearly - shared) / whole,
        "unknown": math.fsum(telling[word] for word, count in frequency.items() if not count) / whole,
        "length": math.log(1 + len(context.plan.words)),
        "lexical_lead": _lead(by["lexical"] if "lexical" in by else next(iter(by.values()))) if by else 0.0,
    }
    if {name, "lexical"} <= by.keys():
        many = max(1, min(AGREE, context.words.size // 4))
        ours, theirs = (_first(by[signal], context.owners, many) for signal in (name, "lexical"))
        found["agreed"] = len(ours & theirs) / max(1, min(many, len(ours), len(theirs)))
        found["near"] = by[name].hits[0].score - context.levels[name]
        found["lead"] = _lead(by[name])
    return found


def candidates(rankings: Sequence[Ranking]) -> set[ChunkId]:
    """The chunks whose documents `confidence` wants to know."""
    deep = 4 * AGREE
    return {hit.chunk for ranking in rankings if ranking.by in ("lexical", *MODELS) for hit in ranking.hits[:deep]}


def _holds_identifiers(context: ConfidenceInput) -> bool:
    """Whether the query is largely identifiers, and the first result is the one that has them as they are written."""
    if not identifiers(context.plan.text):
        return False
    first = context.read[0]
    exact = next((ranking.hits for ranking in context.rankings if ranking.by == "exact"), ())
    if not any(hit.chunk == first.id and hit.score >= exact[0].score for hit in exact):
        return False
    there = forms(" ".join((first.title, *first.headings, first.text)))
    return all(form in there for form in context.plan.forms if is_code(form))


def _known_for(context: ConfidenceInput) -> bool:
    """Whether the query is the registry of one of the first results, or who made it."""
    asked = set(context.plan.words)
    return any(asked <= context.registry_words.get(passage.document, frozenset()) for passage in context.read[:READ])


def _shared(telling: Mapping[str, float], context: ConfidenceInput) -> tuple[float, float]:
    """How much of what the query's words tell is in one passage, its headings and names; and with other endings."""
    most = nearly = 0.0
    whole = math.fsum(telling.values())
    for passage in context.read[:READ]:
        there = set(words_of(" ".join((passage.title, *passage.headings, passage.text))))
        there |= context.names.get(passage.document, frozenset())
        there |= context.registry_words.get(passage.document, frozenset())
        most = max(most, math.fsum(weight for word, weight in telling.items() if word in there))
        close = math.fsum(weight for word, weight in telling.items() if not there.isdisjoint(alike(word)))
        nearly = max(nearly, close)
        if most >= whole:
            break
    return most, nearly


def _first(ranking: Ranking, owners: Mapping[ChunkId, int], many: int) -> set[int]:
    documents = dict.fromkeys(owners[hit.chunk] for hit in ranking.hits if hit.chunk in owners)
    return set(list(documents)[:many])


def _lead(ranking: Ranking) -> float:
    return lead([*(hit.score for hit in ranking.hits), *ranking.filled.values()]) or 0.0
