"""Duplicate check: registered entities with the path, name or content of a record, and those that say almost the same.

How alike two entities are is the share of their words that they have in common, each weighed by how rare it is among
the entities that the asker may see: of all their words, or of name and description alone, since a copy may list its
tools differently. It needs no model, so the answer is the same with vectors and without.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.boosts import text_words
from watersmeet.core.entities import Entity, Refused, embedding_text, entity_of
from watersmeet.core.errors import NoIndex
from watersmeet.core.names import same_path
from watersmeet.core.visibility import Viewer
from watersmeet.engine.registry.documents import hashes
from watersmeet.engine.registry.record_files import Item, Listed

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

PATH, NAME, CONTENT, NEAR = "path", "name", "content", "near"
MAX_LISTED = 10


def check(engine: Engine, found: Sequence[Item], min_score: float, viewer: Viewer | None) -> dict[str, Any]:
    """For each record the entities that it may repeat, the likeliest first. Nothing is registered."""
    known = _Known(_registered(engine, viewer))
    entities = [item for item in found if not isinstance(item, Refused | Listed)]
    records = [_checked(where, entity, known.like(entity, min_score)) for where, entity in entities]
    return {
        "checked": len(records),
        "duplicates": sum(bool(one["duplicates"]) for one in records),
        "records": records,
        "skipped": [{"record": one.record, "reason": one.reason} for one in found if isinstance(one, Refused)],
    }


def _checked(where: str, entity: Entity, like: list[dict[str, Any]]) -> dict[str, Any]:
    return {"record": where, "path": entity.path, "name": entity.name, "entity_type": entity.kind, "duplicates": like}


def _registered(engine: Engine, viewer: Viewer | None) -> list[Entity]:
    from watersmeet.engine.registry.listing import EVERYTHING, listing

    try:
        return [entity_of(record) for record in listing(engine, "", "", viewer, **EVERYTHING)]
    except NoIndex:
        return []


class _Known:
    """Registered entities, by what they may be found by: only those with a word in common are compared."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._entities = entities
        words = [_words(entity) for entity in entities]
        self._counts = Counter(word for every, _ in words for word in every)
        self._texts = [_Texts([one[which] for one in words], self._weight) for which in (0, 1)]
        self._same: dict[tuple[str, object], list[int]] = {}
        for number, entity in enumerate(entities):
            for key in _keys(entity):
                self._same.setdefault(key, []).append(number)

    def _weight(self, word: str) -> float:
        """The rarer, the more; most if nobody has it."""
        return math.log(1 + (len(self._entities) + 1) / (1 + self._counts[word]))

    def like(self, entity: Entity, min_score: float) -> list[dict[str, Any]]:
        scores: dict[int, float] = dict.fromkeys(range(len(self._entities)), 0.0) if min_score == 0 else {}
        for words, texts in zip(_words(entity), self._texts, strict=True):
            for number, share in texts.shares(words).items():
                scores[number] = max(share, scores.get(number, 0.0))
        matches: dict[int, list[str]] = {}
        for key in _keys(entity):
            for number in self._same.get(key, ()):
                matches.setdefault(number, []).append(key[0])
        for number, score in scores.items():
            if score >= min_score and entity.kind == self._entities[number].kind:
                matches.setdefault(number, []).append(NEAR)
        found = [_like(self._entities[number], what, scores.get(number, 0.0)) for number, what in matches.items()]
        return sorted(found, key=lambda one: (PATH not in one["matches"], -one["score"], one["path"]))[:MAX_LISTED]


class _Texts:
    """One text of each entity: which have a word, and how much all the words of each weigh."""

    def __init__(self, texts: Sequence[set[str]], weight: Callable[[str], float]) -> None:
        self._weight = weight
        self._having: dict[str, list[int]] = {}
        for number, words in enumerate(texts):
            for word in words:
                self._having.setdefault(word, []).append(number)
        weights = {word: weight(word) for word in self._having}
        self._totals = [math.fsum(weights[word] for word in words) for words in texts]

    def shares(self, words: set[str]) -> dict[int, float]:
        """The share of common words of all words, by weight, of the texts that have any."""
        common: dict[int, float] = {}
        total = 0.0
        for word in sorted(words):  # in one order, so that sums are the same every time
            weight = self._weight(word)
            total += weight
            for number in self._having.get(word, ()):
                common[number] = common.get(number, 0.0) + weight
        return {number: shared / (total + self._totals[number] - shared) for number, shared in common.items()}


def _like(other: Entity, matches: list[str], score: float) -> dict[str, Any]:
    return {
        "path": other.path,
        "name": other.name,
        "entity_type": other.kind,
        "description": other.description[:300],
        "matches": matches,
        "score": round(score, 4),
    }


def _words(entity: Entity) -> tuple[set[str], set[str]]:
    """All words of an entity, and those of its name and description."""
    return text_words(embedding_text(entity)), text_words(entity.name, entity.description)


def _keys(entity: Entity) -> list[tuple[str, object]]:
    """What two entities must not have in common, by how it is called."""
    found: list[tuple[str, object]] = [(PATH, same_path(entity.path))]
    if name := _plain(entity.name):
        found.append((NAME, (entity.kind, name)))
    return [*found, (CONTENT, hashes(entity)[1])]


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())
