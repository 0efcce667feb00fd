from __future__ import annotations

import pytest

from small_index import indexed
from watersmeet.core.entities import SERVER, SKILL, Entity, Tool
from watersmeet.core.model import ANY, Hit, Plan, Ranking
from watersmeet.core.ports import Entities
from watersmeet.stage.floor import Floor
from watersmeet.stage.floor_unless_mentioned import FloorUnlessMentioned
from watersmeet.testing.contracts.corpus import registered

MAPS = Entity(SERVER, "/maps", "Maps", "Roads", tools=(Tool("weather_now", "The weather"), Tool("route", "")))
SCORES = {"/s0": 1.0, "/s1": 0.9, "/s2": 0.8, "/s3": 0.1, "/maps#route": 0.05, "/maps#weather_now": 0.0}


@pytest.fixture(scope="module")
def entities() -> Entities:
    skills = [Entity(SKILL, f"/s{n}", f"Skill {n}", "Plans a trip") for n in range(4)]
    return indexed([one for entity in (MAPS, *skills) for one in registered(entity)]).entities(ANY)


def kept(entities: Entities, task: str, **options: float) -> list[str]:
    chunks = entities.first_chunks(list(SCORES), ANY)
    ranking = Ranking("unit", tuple(Hit(chunks[name], score) for name, score in SCORES.items()))
    assert len(Floor().apply(ranking, Plan(task)).hits) == 3
    made = FloorUnlessMentioned(entities, **options).apply(ranking, Plan(task))
    leads = entities.heads([hit.chunk for hit in made.hits])
    return [leads[hit.chunk].document for hit in made.hits]


def test_what_mentions_a_rare_word_stays(entities: Entities) -> None:
    assert kept(entities, "weather") == ["/s0", "/s1", "/s2", "/maps#weather_now"]
    assert kept(entities, "the") == kept(entities, "zebra") == ["/s0", "/s1", "/s2"]


def test_a_frequent_word_keeps_nothing(entities: Entities) -> None:
    assert kept(entities, "plan a trip") == ["/s0", "/s1", "/s2"]
    assert kept(entities, "plan a trip", rare_share=1.0) == ["/s0", "/s1", "/s2", "/s3"]
    assert kept(entities, "plan a trip", rare_always=4) == ["/s0", "/s1", "/s2", "/s3"]
    assert kept(entities, "weather for a trip") == ["/s0", "/s1", "/s2", "/maps#weather_now"]
