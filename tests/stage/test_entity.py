"""A tool lifts its server, and all chunks of an entity are one hit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from registries import ENTITIES, opened
from watersmeet import Engine
from watersmeet.core.model import Condition, Hit, Plan, Ranking
from watersmeet.core.ports import Entities
from watersmeet.core.visibility import gates
from watersmeet.stage.entity import Entity


@pytest.fixture
def entities(tmp_path: Path) -> Iterator[Entities]:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(*ENTITIES)
        with engine.snapshot() as view:
            yield engine.visible_index(view, None).entities


def ranking(entities: Entities, **scores: float) -> Ranking:
    names = {name.replace("__", "#").replace("_", "/"): score for name, score in scores.items()}
    chunks = entities.first_chunks([f"/{name}" for name in names], Condition())
    return Ranking.of("fused", [Hit(chunks[f"/{name}"], score) for name, score in names.items()])


def told(entities: Entities, made: Ranking) -> dict[str, float]:
    leads = entities.heads([hit.chunk for hit in made.hits])
    return {leads[hit.chunk].document: hit.score for hit in made.hits}


def test_a_tool_lifts_its_server(entities: Entities) -> None:
    made = Entity(entities).apply(ranking(entities, context7=0.2, strava=0.5, context7__resolve=0.9), Plan("x"))
    assert told(entities, made) == {"/context7": 0.9, "/context7#resolve": 0.9, "/strava": 0.5}
    lifted = next(hit for hit in made.hits if hit.evidence)
    assert lifted.evidence[0].detail == {"tool": "/context7#resolve"}


def test_a_server_is_never_pulled_down(entities: Entities) -> None:
    made = Entity(entities).apply(ranking(entities, context7=0.8, context7__resolve=0.3), Plan("x"))
    assert told(entities, made)["/context7"] == 0.8


def test_a_server_that_only_its_tool_found(entities: Entities) -> None:
    made = Entity(entities).apply(ranking(entities, wiki=0.4, strava__getStats=0.6), Plan("x"))
    assert told(entities, made)["/strava"] == 0.6
    barred = Plan("x", condition=Condition({"tag": ("docs",)}, gates=gates()))
    assert "/strava" not in told(entities, Entity(entities).apply(ranking(entities, strava__getStats=0.6), barred))


def test_every_chunk_of_an_entity_is_one_hit(tmp_path: Path) -> None:
    from watersmeet.core.entities import Entity as Record

    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(Record("skill", "/s", "s", "text", body="word\n\n" * 1000))
        chunks = [passage.id for passage in _passages(engine)]
        assert len(chunks) > 2
        with engine.snapshot() as view:
            hits = [Hit(chunk, float(number)) for number, chunk in enumerate(chunks)]
            made = Entity(engine.visible_index(view, None).entities).apply(Ranking.of("fused", hits), Plan("x"))
        assert [(hit.chunk, hit.score) for hit in made.hits] == [(chunks[0], float(len(chunks) - 1))]


def _passages(engine: Engine) -> list[object]:
    return list(engine.passages("/s"))
