"""Duplicate check: registered entities with the path, name or content of a record, and those that say almost the same.

How alike two entities are is the share of their words that they have in common, each weighed by how rare it is among
the entities that the asker may see: of all their words, or of name and description alone, since a copy may list its
tools differently. It needs no model, so the answer is the same with vectors and without.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
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
    """Registered entities, by what they may be found by."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._entities = entities
        self._words = [_words(entity) for entity in entities]
        self._counts = Counter(word for words, _ in self._words for word in words)
        self._contents = [hashes(entity)[1] for entity in entities]

    def _weight(self, word: str) -> float:
        return math.log(1 + (len(self._entities) + 1) / (1 + self._counts[word]))

    def like(self, entity: Entity, min_score: float) -> list[dict[str, Any]]:
        words, path, name = _words(entity), same_path(entity.path), _plain(entity.name)
        content = hashes(entity)[1]
        found = []
        for number, other in enumerate(self._entities):
            score = max(map(self._share, words, self._words[number]))
            same = {
                PATH: path == same_path(other.path),
                NAME: bool(name) and name == _plain(other.name) and entity.kind == other.kind,
                CONTENT: content == self._contents[number],
                NEAR: score >= min_score and entity.kind == other.kind,
            }
            if any(same.values()):
                found.append(_like(other, [what for what, is_so in same.items() if is_so], score))
        return sorted(found, key=lambda one: (PATH not in one["matches"], -one["score"], one["path"]))[:MAX_LISTED]

    def _share(self, words: set[str], others: set[str]) -> float:
        """The share of common words, rare ones counting more; rarer than all known ones if nobody has them."""
        either = sum(map(self._weight, words | others))
        return sum(map(self._weight, words & others)) / either if either else 0.0


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


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())
