"""Confidence of an answer: the probability that one of the first three results answers the query.

A logistic model, trained on queries that the documents answer and on queries of other collections, which they do not
(benchmarks/confidence.py; docs/decisions/0009 and 0031). Its features: the query words found in the results, whether
lexical and vector rankings agree, the lead of the first result, and its cosine less the one that general queries reach
in this index. Raw cosines are not comparable between collections. Literal matches have a minimum confidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, DocId, Passage, Plan, Ranking, confidence_words
from watersmeet.core.passages import has_word
from watersmeet.core.ports import Words
from watersmeet.core.statistics import lead
from watersmeet.core.tokens import forms, identifiers, is_code
from watersmeet.core.tokens import words as words_of
from watersmeet.core.word_endings import alike

READ = 3
"""Number of results whose text is read."""
AGREE = 10
"""Documents of each ranking that are compared; at most a quarter of the index, since on all of it any two agree."""
IDENTIFIER_FLOOR = 0.8
"""Minimum confidence where at least a third of the query is identifiers and the first result has all of them, where all
query words are registry words of one of the first results, or where the first result has the only word of the query."""
SYNONYM_WORDS = 3
"""If the index has no word of the query, nearness alone decides for so many words: they may be other words for what it
has. That it has none of many words says that it has no answer."""
NAMED_FLOOR = 0.9
"""Minimum confidence where the query is the title or heading of the first result, or a phrase that it has."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Model:
    """A logistic model: feature weights, and the probability below which there is no good match."""

    constant: float
    weights: Mapping[str, float]
    threshold: float

    def probability(self, features: Mapping[str, float]) -> float:
        odds = self.constant + math.fsum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


MODELS = {
    "dense": Model(
        -5.769,
        {
            "shared": 3.195,
            "endings": 0.003,
            "agreed": 2.193,
            "near": 11.777,
            "length": 0.865,
            "lead": 0.476,
            "lexical_lead": 0.391,
        },
        0.29,
    ),
    "static": Model(
        -5.745,
        {
            "shared": 4.012,
            "endings": 1.189,
            "agreed": 2.572,
            "near": 3.805,
            "length": 0.84,
            "lead": 0.383,
            "lexical_lead": 0.426,
        },
        0.391,
    ),
    "dense_alone": Model(-1.846, {"near": 15.73, "lead": 0.685}, 0.5),
    "words": Model(
        -4.774,
        {"shared": 5.256, "endings": 0.645, "unknown": -0.649, "length": 1.11, "lexical_lead": 0.352},
        0.495,
    ),
}
"""By the best vector signal that ran; `words` if none did; `dense_alone` if the index has no word of the query."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Confidence:
    probability: float
    fits: bool

    @property
    def words(self) -> str:
        return confidence_words(self.probability, not self.fits)


class ConfidenceInput(NamedTuple):
    """Inputs of the confidence model: the plan, the rankings and the first passages.

    `names`: aliases of their documents. `registry_words`: words of their registry entry that are in no text. `owners`:
    the documents of the rankings' first chunks.
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
    """The confidence of an answer; None if the query has only filters."""
    if not context.read:
        return Confidence(0.0, False)
    if not context.plan.words:
        return None
    name = model_name(context.rankings, context.levels, len(context.plan.words))
    probability = max(MODELS[name].probability(features(name, context)), _floor(context))
    return Confidence(round(probability, 4), probability >= MODELS[name].threshold)


def model_name(rankings: Sequence[Ranking], levels: Mapping[str, float], query_words: int = 1) -> str:
    """The model to use: that of the best vector signal, if the lexical signal has hits too."""
    by = {ranking.by for ranking in rankings if ranking.hits}
    if "lexical" not in by:
        return "dense_alone" if query_words <= SYNONYM_WORDS and "dense" in by and levels.get("dense") else "words"
    return next((name for name in ("dense", "static") if name in by and levels.get(name)), "words")


def features(name: str, context: ConfidenceInput) -> dict[str, float]:
    by = {ranking.by: ranking for ranking in context.rankings if ranking.hits}
    if name == "dense_alone":
        return {"near": by["dense"].hits[0].score - context.levels["dense"], "lead": _lead(by["dense"])}
    frequency = {word: context.words.frequency("body", word) for word in context.plan.words}
    weights = {word: math.log(1 + context.words.size / (1 + count)) for word, count in frequency.items()}
    whole = math.fsum(weights.values())
    shared, similar = _shared(weights, context)
    found = {
        "shared": shared / whole,
        "endings": (similar - shared) / whole,
        "unknown": math.fsum(weights[word] for word, count in frequency.items() if not count) / whole,
        "length": math.log(1 + len(context.plan.words)),
        "lexical_lead": _lead(by["lexical"] if "lexical" in by else next(iter(by.values()))) if by else 0.0,
    }
    if {name, "lexical"} <= by.keys():
        limit = max(1, min(AGREE, context.words.size // 4))
        ours, theirs = (_first(by[signal], context.owners, limit) for signal in (name, "lexical"))
        found["agreed"] = len(ours & theirs) / max(1, min(limit, len(ours), len(theirs)))
        found["near"] = by[name].hits[0].score - context.levels[name]
        found["lead"] = _lead(by[name])
    return found


def candidates(rankings: Sequence[Ranking]) -> set[ChunkId]:
    """Chunks whose documents `confidence` needs as `owners`."""
    deep = 4 * AGREE
    return {hit.chunk for ranking in rankings if ranking.by in ("lexical", *MODELS) for hit in ranking.hits[:deep]}


def _floor(context: ConfidenceInput) -> float:
    """Minimum confidence of a literal match."""
    first, plan = context.read[0], context.plan
    query = words_of(plan.text)
    if plan.applied("phrase") or any(words_of(name) == query for name in (first.title, *first.headings[-1:])):
        return NAMED_FLOOR
    has_only_word = len(plan.words) == 1 and has_word(first, plan.words[0])
    if has_only_word or _holds_identifiers(context) or _matches_registry_words(context):
        return IDENTIFIER_FLOOR
    return 0.0


def _holds_identifiers(context: ConfidenceInput) -> bool:
    """Whether the query is largely identifiers and the first result has all of them as written."""
    if not identifiers(context.plan.text):
        return False
    first = context.read[0]
    exact = next((ranking.hits for ranking in context.rankings if ranking.by == "exact"), ())
    if not any(hit.chunk == first.id and hit.score >= exact[0].score for hit in exact):
        return False
    present = forms(" ".join((first.title, *first.headings, first.text)))
    return all(form in present for form in context.plan.forms if is_code(form))


def _matches_registry_words(context: ConfidenceInput) -> bool:
    """Whether all query words name the registry or the author of one of the first results."""
    query_words = set(context.plan.words)
    return any(
        query_words <= context.registry_words.get(passage.document, frozenset()) for passage in context.read[:READ]
    )


def _shared(weights: Mapping[str, float], context: ConfidenceInput) -> tuple[float, float]:
    """IDF weight of the query words in the best passage, its headings and names: as written, and with other endings."""
    exact = similar = 0.0
    whole = math.fsum(weights.values())
    for passage in context.read[:READ]:
        present = set(words_of(" ".join((passage.title, *passage.headings, passage.text))))
        present |= context.names.get(passage.document, frozenset())
        present |= context.registry_words.get(passage.document, frozenset())
        exact = max(exact, math.fsum(weight for word, weight in weights.items() if word in present))
        with_endings = math.fsum(weight for word, weight in weights.items() if not present.isdisjoint(alike(word)))
        similar = max(similar, with_endings)
        if exact >= whole:
            break
    return exact, similar


def _first(ranking: Ranking, owners: Mapping[ChunkId, int], limit: int) -> set[int]:
    documents = dict.fromkeys(owners[hit.chunk] for hit in ranking.hits if hit.chunk in owners)
    return set(list(documents)[:limit])


def _lead(ranking: Ranking) -> float:
    return lead([*(hit.score for hit in ranking.hits), *ranking.filled.values()]) or 0.0
