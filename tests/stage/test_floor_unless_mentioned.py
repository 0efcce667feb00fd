from __future__ import annotations

from watersmeet.core.entities import Entity, Tool
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.core.ports import DocumentHead
from watersmeet.stage.floor import Floor
from watersmeet.stage.floor_unless_mentioned import FloorUnlessMentioned

SERVER = Entity("mcp_server", "/maps", "Maps", "Roads", tools=(Tool("weather_now", "The weather"), Tool("route", "")))


class Held:
    def heads(self, ids):
        kinds = {"tool": ("/maps#weather_now", "tool", "/maps"), "other": ("/maps#route", "tool", "/maps")}
        return {one: DocumentHead(one, *kinds.get(one, (f"/{one}", "skill", None))) for one in ids}

    def entities(self, documents):
        return {name: SERVER for name in documents if name == "/maps"}


def test_what_says_a_word_of_the_query_stays() -> None:
    hits = [Hit("a", 1.0), Hit("b", 0.9), Hit("c", 0.8), Hit("note", 0.1), Hit("other", 0.05), Hit("tool", 0.0)]
    ranking = Ranking.of("unit", hits)
    stage = FloorUnlessMentioned(Held())
    assert [hit.chunk for hit in stage.apply(ranking, Plan("weather")).hits] == ["a", "b", "c", "tool"]
    assert [hit.chunk for hit in stage.apply(ranking, Plan("the")).hits] == ["a", "b", "c"]
    assert stage.apply(ranking, Plan("zebra")).hits == Floor().apply(ranking, Plan("zebra")).hits
