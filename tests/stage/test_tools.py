from __future__ import annotations

import pytest

from small_index import indexed
from watersmeet.core.entities import SERVER, SKILL, Entity, Tool
from watersmeet.core.model import ANY, Condition, Evidence, Hit, Plan, Ranking
from watersmeet.core.ports import Entities
from watersmeet.stage.tools import Tools
from watersmeet.testing.contracts.corpus import registered

STRAVA = Entity(
    SERVER,
    "/strava",
    "Strava",
    "Runs and rides",
    tools=(Tool("getStats", "Figures of a season"), Tool("strava_segments", "Segments nearby")),
)
DOCS = Entity(SERVER, "/docs", "Docs", "Pages", tools=tuple(Tool(f"page_{n}", "A page") for n in range(9)))
SKILLED = Entity(SKILL, "/pdf", "pdf", "Fill in forms")


@pytest.fixture(scope="module")
def entities() -> Entities:
    return indexed([one for entity in (STRAVA, DOCS, SKILLED) for one in registered(entity)]).entities(ANY)


def ranking(entities: Entities, scores: dict[str, float]) -> Ranking:
    chunks = entities.first_chunks(list(scores), ANY)
    return Ranking.of("fused", [Hit(chunks[name], score) for name, score in scores.items()])


def told(entities: Entities, made: Ranking) -> dict[str, float]:
    leads = entities.heads([hit.chunk for hit in made.hits])
    return {leads[hit.chunk].document: hit.score for hit in made.hits}


def test_tools_bring_their_own_score(entities: Entities) -> None:
    before = ranking(entities, {"/strava": 1.0, "/docs": 0.5, "/strava#getStats": 0.9})
    made = told(entities, Tools(entities).apply(before, Plan("strava docs")))
    assert made["/strava#strava_segments"] == pytest.approx(0.5 * 0.7 + 0.5 * 0.3)
    assert "/strava#getStats" not in made  # it says none of the words
    assert made["/strava"] == 1.0


def test_tools_of_servers_further_down_are_left_out(entities: Entities) -> None:
    before = ranking(entities, {"/docs": 1.0, "/strava": 0.5})
    assert "/strava#strava_segments" in told(entities, Tools(entities).apply(before, Plan("strava", top_n=2)))
    assert "/strava#strava_segments" not in told(entities, Tools(entities).apply(before, Plan("strava", top_n=1)))


def test_a_tool_that_was_found_keeps_its_evidence_and_says_its_server(entities: Entities) -> None:
    chunk = entities.first_chunks(["/strava#getStats"], ANY)["/strava#getStats"]
    found = (Evidence("lexical", 1, 0.2),)
    (server,) = ranking(entities, {"/strava": 1.0}).hits
    made = Tools(entities).apply(Ranking("fused", (server, Hit(chunk, 0.2, found))), Plan("stats"))
    (hit,) = (hit for hit in made.hits if hit.chunk == chunk)
    assert hit.evidence == (*found, Evidence("tools", 2, hit.score, {"server": "/strava"}))


@pytest.mark.parametrize(("options", "most"), [({}, 3), ({"share": 2.5}, 5), ({"share": 0.0, "min_tools": 1}, 1)])
def test_how_many_tools_there_are_at_most(entities: Entities, options: dict[str, float], most: int) -> None:
    before = ranking(entities, {"/docs": 1.0})
    made = told(entities, Tools(entities, **options).apply(before, Plan("page", top_n=2)))  # type: ignore[arg-type]
    assert list(made) == ["/docs", *(f"/docs#page_{n}" for n in range(most))]  # at a tie by name


def test_tools_that_the_condition_bars_are_not_brought_in(entities: Entities) -> None:
    servers = Plan("segments", condition=Condition({"kind": (SERVER,)}))
    assert list(told(entities, Tools(entities).apply(ranking(entities, {"/strava": 1.0}), servers))) == ["/strava"]


def test_where_no_tools_are_asked_for_nothing_changes(entities: Entities) -> None:
    before = ranking(entities, {"/strava": 1.0, "/strava#getStats": 0.9})
    assert Tools(entities).apply(before, Plan("segments", kinds=(SERVER,))) is before


def test_without_servers_or_words_there_are_no_tools(entities: Entities) -> None:
    assert list(told(entities, Tools(entities).apply(ranking(entities, {"/pdf": 1.0}), Plan("segments")))) == ["/pdf"]
    assert list(told(entities, Tools(entities).apply(ranking(entities, {"/docs": 1.0}), Plan("")))) == ["/docs"]
    assert Tools(entities).apply(Ranking("fused"), Plan("segments")).hits == ()


def test_on_a_shared_scale_the_score_is_that_of_the_signals(entities: Entities) -> None:
    stage = Tools(entities, shared_scale=True)
    before = ranking(entities, {"/strava": 1.0, "/strava#strava_segments": 0.9, "/strava#getStats": 0.8, "/docs": 0.5})
    made = told(entities, stage.apply(before, Plan("strava docs")))
    assert made == {"/strava": 1.0, "/strava#strava_segments": 0.9, "/docs": 0.5}  # getStats says none of the words


def test_if_no_signal_ranks_tools_name_and_description_count_as_those_of_an_entity(entities: Entities) -> None:
    stage = Tools(entities, shared_scale=True)
    before = ranking(entities, {"/strava": 8 / 13.5, "/docs": 8 / 13.5})
    made = told(entities, stage.apply(before, Plan("strava page season", top_n=20)))
    assert made["/strava#strava_segments"] == 3 / 13.5
    assert made["/strava#getStats"] == 2 / 13.5
    assert made["/docs#page_0"] == 5 / 13.5
