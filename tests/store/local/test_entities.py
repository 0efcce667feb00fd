from __future__ import annotations

import pytest

from watersmeet.core.boosts import boost, query_words
from watersmeet.core.entities import SERVER, SKILL, TOOL, Entity, Tool
from watersmeet.core.model import ANY, Condition
from watersmeet.store.local.entities import LiveEntities, kinds_of
from watersmeet.testing.contracts.corpus import EVERYONES, chunk_of, registered


@pytest.fixture
def entities(harbour):
    with harbour.index.snapshot() as snapshot:
        yield LiveEntities(snapshot)


def test_who_mentions_most_comes_first(entities) -> None:
    found = entities.mentioning(query_words("tides forecast"), ANY, 9)
    assert found[0].chunk == chunk_of("/weather")
    worth = [boost(one.places) for one in found]
    assert worth == sorted(worth, reverse=True)
    assert {one.chunk for one in found} == {chunk_of(name) for name in ("/weather", "/pilot", "/customs")}
    assert entities.mentioning(query_words("tides forecast"), ANY, 1) == found[:1]
    assert entities.mentioning((), ANY, 9) == entities.mentioning(("zyzzyva",), ANY, 9) == []


def test_a_condition_and_a_viewer_keep_some_out(entities, harbour) -> None:
    servers = Condition({"kind": (SERVER,)})
    assert {one.chunk for one in entities.mentioning(("tides",), servers, 9)} == {
        chunk_of("/weather"),
        chunk_of("/customs"),
    }
    assert chunk_of("/customs") not in {one.chunk for one in entities.mentioning(("tides",), EVERYONES, 9)}
    with harbour.index.snapshot() as snapshot:
        assert sum(LiveEntities(snapshot, EVERYONES).kinds().values()) < sum(entities.kinds().values())


def test_mentions_of_given_entities_are_those_of_the_ranking(entities) -> None:
    ranked = {one.chunk: one for one in entities.mentioning(("tides",), ANY, 9)}
    assert {one.chunk: one for one in entities.mentions(("tides",), list(ranked))} == ranked
    assert entities.mentions(("tides",), [chunk_of("/knots"), "not there"]) == []


def test_leads_and_whose_a_tool_is(entities) -> None:
    tool = chunk_of("/weather#get_forecast")
    lead = entities.heads([tool, "not there"])[tool]
    assert (lead.document, lead.kind, lead.server) == ("/weather#get_forecast", TOOL, "/weather")
    note = entities.heads([chunk_of("guides/setup.md", 2)])[chunk_of("guides/setup.md", 2)]
    assert (note.chunk, note.server) == (chunk_of("guides/setup.md"), None)
    assert entities.chunks([note.chunk])[chunk_of("guides/setup.md", 1)] == note.chunk


def test_entities_tools_and_records_by_name(entities) -> None:
    found = entities.entities(["/weather", "/weather#get_forecast", "rust.md"])
    assert [tool.name for tool in found.pop("/weather").tools] == ["get_forecast", "list_stations"]
    assert found == {}
    assert entities.tools(["get_forecast"], ANY) == [("/weather#get_forecast", "get_forecast")]
    assert entities.tools(["/weather#get_forecast"], Condition({"kind": (SKILL,)})) == []
    assert entities.records(["/knots", "rust.md"]).keys() == {"/knots"}


def test_what_was_changed_is_mentioned_as_it_is_now(local) -> None:
    filling = local(*registered(Entity(SKILL, "/s", "S", "About tides")))
    with filling.index.snapshot() as snapshot:
        assert len(snapshot.entities(ANY).mentioning(("tides",), ANY, 9)) == 1
    filling.put([*registered(Entity(SKILL, "/s", "S", "About stones", tools=(Tool("t"),)))])
    with filling.index.snapshot() as snapshot:
        assert snapshot.entities(ANY).mentioning(("tides",), ANY, 9) == []
        assert len(snapshot.entities(ANY).mentioning(("stones",), ANY, 9)) == 1


def test_the_kinds_that_a_condition_asks_for() -> None:
    assert kinds_of(Condition({"kind": (SERVER, SKILL)})) == (SERVER, SKILL)
    assert set(kinds_of(ANY)) >= {SERVER, SKILL}
