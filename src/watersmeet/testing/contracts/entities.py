"""The contract of `Entities`: servers, tools, agents and skills, and the words that they mention."""

from __future__ import annotations

from watersmeet.core.boosts import place_names
from watersmeet.core.entities import AGENT, SERVER, SKILL, TOOL
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ANY, Condition, DocId
from watersmeet.core.ports import DocumentHead
from watersmeet.testing.contracts._base import FilledContract
from watersmeet.testing.contracts.corpus import EVERYONES, OPS, chunk_of, visible_to

WEATHER, PILOT, KNOTS, CUSTOMS, DEPTHS = map(DocId, ("/weather", "/pilot", "/knots", "/customs", "/depths"))
FORECAST, STATIONS = DocId("/weather#get_forecast"), DocId("/weather#list_stations")


class EntitiesContract(FilledContract):
    def test_entities_with_most_mentions_come_first(self, snapshot: Snapshot) -> None:
        found = snapshot.entities(ANY).mentioning(["tides", "forecasts"], ANY, 10)
        assert [mention.chunk for mention in found[:1]] == [chunk_of(WEATHER)]
        assert {mention.chunk for mention in found} == {chunk_of(name) for name in (WEATHER, PILOT, CUSTOMS)}
        assert found[0].words == 2
        assert place_names(found[0].places) == ["description"]
        assert found[0].places >> 5 == 0b11  # both of its tools mention one of the words
        assert snapshot.entities(ANY).mentioning(["tides", "forecasts"], ANY, 1) == found[:1]

    def test_hidden_entities_are_not_returned(self, snapshot: Snapshot) -> None:
        public = {mention.chunk for mention in snapshot.entities(EVERYONES).mentioning(["tides"], EVERYONES, 10)}
        assert public == {chunk_of(WEATHER), chunk_of(PILOT)}
        agents = snapshot.entities(ANY).mentioning(["tides"], Condition({"kind": (AGENT,)}), 10)
        assert [mention.chunk for mention in agents] == [chunk_of(PILOT)]
        assert snapshot.entities(ANY).mentioning([], ANY, 10) == []

    def test_mentions_of_given_chunks(self, snapshot: Snapshot) -> None:
        ids = [chunk_of(WEATHER), chunk_of(KNOTS), chunk_of("rust.md")]
        entities = snapshot.entities(ANY)
        (found,) = entities.mentions(["tide"], ids)
        assert found.chunk == chunk_of(WEATHER)
        assert found in entities.mentioning(["tide"], ANY, 10)

    def test_a_declared_type_is_mentioned_by_what_is_searched(self, snapshot: Snapshot) -> None:
        entities = snapshot.entities(ANY)
        for word, number in (("soundings", 1), ("mud", 1), ("sextant", 1), ("50000", 0)):
            assert [one.chunk for one in entities.mentioning([word], ANY, 10)] == [chunk_of(DEPTHS)] * number, word
        charts = Condition({"kind": ("custom:chart",)})
        assert [one.chunk for one in entities.mentioning(["mud", "tides"], charts, 10)] == [chunk_of(DEPTHS)]
        assert entities.kinds()["custom:chart"] == 1
        assert entities.entities([DEPTHS])[DEPTHS].fields["edition"] == "keyword"

    def test_kinds_count_visible_documents(self, snapshot: Snapshot) -> None:
        everything, public = snapshot.entities(ANY).kinds(), snapshot.entities(EVERYONES).kinds()
        assert (everything[SERVER], everything[TOOL], everything[AGENT], everything[SKILL]) == (2, 3, 1, 1)
        assert (public[SERVER], public[TOOL]) == (1, 2)

    def test_the_head_of_a_document(self, snapshot: Snapshot) -> None:
        second = chunk_of(STATIONS, 1)
        found = snapshot.entities(ANY).heads([second, chunk_of(WEATHER), chunk_of("guides/setup.md", 2)])
        assert found[second] == DocumentHead(chunk_of(STATIONS), STATIONS, TOOL, WEATHER)
        assert found[chunk_of(WEATHER)] == DocumentHead(chunk_of(WEATHER), WEATHER, SERVER, None)
        assert found[chunk_of("guides/setup.md", 2)].chunk == chunk_of("guides/setup.md")

    def test_the_first_chunks_of_heads(self, snapshot: Snapshot) -> None:
        head = chunk_of(STATIONS)
        found = snapshot.entities(ANY).chunks([head, chunk_of(PILOT)])
        assert found == {head: head, chunk_of(STATIONS, 1): head, chunk_of(PILOT): chunk_of(PILOT)}

    def test_first_chunks_of_documents(self, snapshot: Snapshot) -> None:
        found = snapshot.entities(ANY).first_chunks([WEATHER, CUSTOMS], EVERYONES)
        assert found == {WEATHER: chunk_of(WEATHER)}

    def test_entities_and_records(self, snapshot: Snapshot) -> None:
        entities = snapshot.entities(ANY)
        found = entities.entities([WEATHER, FORECAST, DocId("rust.md"), DocId("no")])
        assert found.keys() == {WEATHER}
        assert [tool.name for tool in found[WEATHER].tools] == ["get_forecast", "list_stations"]
        records = entities.records([WEATHER, FORECAST, DocId("rust.md")])
        assert records.keys() == {WEATHER, FORECAST}
        assert records[FORECAST]["server"] == "/weather"

    def test_tools_by_name_or_id(self, snapshot: Snapshot) -> None:
        entities = snapshot.entities(ANY)
        assert entities.tools(["get_forecast", "/weather#list_stations", "declare"], ANY) == [
            ("/customs#declare", "declare"),
            (FORECAST, "get_forecast"),
            (STATIONS, "list_stations"),
        ]
        assert entities.tools(["declare"], EVERYONES) == []
        assert entities.tools(["declare"], visible_to(OPS)) == [("/customs#declare", "declare")]
        assert entities.tools([], ANY) == []
