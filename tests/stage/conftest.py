"""A few passages held in memory, for stages that ask about what they rank; and an engine with stages of choice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.model import Condition, Hit, Passage, Ranking
from watersmeet.core.place import Place
from watersmeet.core.ports import DocumentHead, Mention, Term
from watersmeet.core.tokens import forms
from watersmeet.engine.settings.settings import load


@dataclass
class Shelf:
    """Passages in the order in which they stand in their documents."""

    held: dict[str, Passage] = field(default_factory=dict)
    aliases: dict[str, set[str]] = field(default_factory=dict)

    def put(
        self,
        id: str,
        text: str = "",
        document: str = "",
        title: str = "",
        headings: tuple[str, ...] = (),
        modified: datetime | None = None,
    ) -> str:
        self.held[id] = Passage(
            id, document or id, "note", title, document or id, modified, headings, Place((1, 1)), text
        )
        return id

    def passages(self, ids: Collection[str]) -> dict[str, Passage]:
        return {id: self.held[id] for id in ids}

    def documents_of(self, ids: Collection[str]) -> dict[str, str]:
        return {id: self.held[id].document for id in ids}

    def owners_of(self, ids: Collection[str]) -> dict[str, int]:
        documents = sorted({passage.document for passage in self.held.values()})
        return {id: documents.index(self.held[id].document) for id in ids}

    def aliased(self, key: str, ids: Collection[str]) -> list[str]:
        return [id for id in ids if self.held[id].document in self.aliases.get(key, ())]

    def heads(self, ids: Collection[str]) -> dict[str, DocumentHead]:
        first = {}
        for passage in self.held.values():
            first.setdefault(passage.document, passage)
        return {
            id: DocumentHead(first[one.document].id, one.document, one.kind, None)
            for id in ids
            for one in (self.held[id],)
        }

    def first_chunks(self, documents: Collection[str], condition: Condition) -> dict[str, str]:
        return {lead.document: lead.chunk for lead in self.heads(self.held).values() if lead.document in documents}

    def entities(self, documents: Collection[str]) -> dict[str, Entity]:
        return {}  # notes are none

    def kinds(self) -> dict[str, int]:
        return {"note": len(self.held)}

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        return []

    def frequency(self, field: str, text: str) -> int:
        return sum(text in forms(passage.text) for passage in self.held.values())

    def score(self, terms: Collection[Term], ids: Collection[str]) -> dict[str, float]:
        return {id: 1.0 for id in ids if any(term.text in forms(self.held[id].text) for term in terms)}

    def dates_of(self, ids: Collection[str]) -> dict[str, datetime]:
        return {id: date for id in ids if (date := self.held[id].modified) is not None}

    def around(self, ids: Collection[str], before: int, after: int) -> dict[str, list[Passage]]:
        found = {}
        for id in ids:
            mine = [p for p in self.held.values() if p.document == self.held[id].document]
            place = mine.index(self.held[id])
            found[id] = mine[max(0, place - before) : place + after + 1]
        return found

    def parents(self, ids: Collection[str]) -> dict[str, Passage]:
        found = {}
        for id in ids:
            one = self.held[id]
            same = [p for p in self.held.values() if p.document == one.document and one.headings]
            above = [p for p in same if p.headings == one.headings[:-1]]
            if above:
                found[id] = above[0]
        return found


@dataclass
class Reversing:
    """A reader that likes best what comes last."""

    asked: list[tuple[str, str, list[str]]] = field(default_factory=list)

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((model, query, list(texts)))
        return [float(place) for place in range(len(texts))]


def _ranked(scores: dict[str, float]) -> Ranking:
    return Ranking.of("fused", [Hit(chunk, score) for chunk, score in scores.items()])


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture(scope="session")
def new_shelf() -> Callable[[], Shelf]:
    return Shelf


@pytest.fixture
def reversing() -> Reversing:
    return Reversing()


@pytest.fixture(scope="session")
def reader() -> Reversing:
    return Reversing()


@pytest.fixture(scope="session")
def ranked() -> Callable[[dict[str, float]], Ranking]:
    return _ranked


@pytest.fixture
def staged(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """An engine over words whose query path ends in these stages."""
    made: list[Engine] = []

    def build(*stages: str, fusion: str = "convex", **tables: Any) -> Engine:
        flags = {
            "index": {"vectors": False},
            "pipeline": {"understand": ["words"], "signals": ["lexical"], "fusion": fusion, "stages": list(stages)},
            "fusion": {"convex": {"scale": "raw"}},
            **tables,
        }
        engine = Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=flags))
        made.append(engine)
        return engine

    yield build
    for engine in made:
        engine.close()
