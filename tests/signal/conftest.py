"""Engines whose signals of choice vote on words, and links held in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import Condition
from watersmeet.core.ports import Edge
from watersmeet.engine.settings.settings import load


@dataclass
class Linked:
    """Documents of one chunk each, called as the document is with a star."""

    pairs: Sequence[tuple[str, str]]
    unreadable: frozenset[str] = frozenset()
    read: list[str] = field(default_factory=list)

    def edges(self, documents: Collection[str]) -> dict[str, Sequence[Edge] | None]:
        self.read += documents
        made = [Edge(a, b, "wiki") for a, b in self.pairs]
        return {d: None if d in self.unreadable else sorted(e for e in made if d in e[:2]) for d in documents}

    def degrees(self, documents: Collection[str]) -> dict[str, int]:
        many = dict.fromkeys(self.unreadable, 10_000)
        return {d: many.get(d, sum(d in pair for pair in self.pairs)) for d in documents}

    def documents_of(self, ids: Collection[str]) -> dict[str, str]:
        return {id: id.removesuffix("*") for id in ids}

    def first_chunks(self, documents: Collection[str], condition: Condition) -> dict[str, str]:
        return {document: f"{document}*" for document in documents}


@pytest.fixture(scope="session")
def linked() -> type[Linked]:
    return Linked


@pytest.fixture
def voting(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    made: list[Engine] = []

    def build(*signals: str, fusion: str = "rrf", weights: dict[str, float] | None = None) -> Engine:
        path = {"understand": ["words"], "signals": list(signals), "fusion": fusion, "stages": ["unit", "top"]}
        flags = {"index": {"vectors": False}, "pipeline": path, "fusion": {fusion: {"weights": weights or {}}}}
        engine = Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=flags))
        made.append(engine)
        return engine

    yield build
    for engine in made:
        engine.close()
