"""Whole words in the places of an entity, and how well a tool answers to them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.boosts import (
    MAX_BOOST,
    boost,
    grade,
    grade_tools,
    matched_places,
    mentions,
    place_names,
    query_words,
    singular,
)
from watersmeet.core.entities import Ability, Entity, Tool

CONTEXT7 = Entity(
    "mcp_server",
    "/context7",
    "Context7 MCP Server",
    "Up-to-date documentation for any library",
    tags=("code", "reference"),
    metadata={"source": "agentcore-sync", "region": "us-east-1"},
    tools=(Tool("query-docs", "Query the docs"), Tool("resolveLibrary", "From a name to an id")),
)


def worth(entity: Entity, query: str) -> float:
    held = mentions(entity)
    places = 0
    for word in query_words(query):
        places |= held.get(singular(word), 0)
    return boost(places)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("what is the context7 docs", ("context7", "docs")),
        ("Tell me about flights to Rome", ("flights", "rome")),
        (".*(", ()),
        ("the of", ()),
        ("find", ("find",)),  # nothing else remains: then it counts
        ("S3 D4 Go ab", ("s3", "d4", "go")),
        ("s3 v2 4k ab 10 x", ("s3", "v2", "4k")),
        ("C# and C++", ("c#", "c++")),
        ("1.2.3", ("1.2.3",)),
        ("V1.2.3-beta, or 1.5?", ("1.2.3", "beta", "1.5")),
        ("python-3.11 10.0.100", ("3.11", "python", "10.0.100")),
        ("a.b 1.2.x rev1.2", ("rev1",)),
        (f"x1.{'1' * 99} 1.{'1' * 99}", ("x1",)),
        ("get_user_by_id", ("getuserbyid",)),
        ("us-east-1", ("east",)),
        ("docs docs DOCS", ("docs",)),
    ],
)
def test_which_words_of_a_query_count(query: str, words: tuple[str, ...]) -> None:
    assert query_words(query) == words


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("context7", 8.0),  # path and name
        ("documentation", 2.0),
        ("reference", 1.5),
        ("agentcore", 1.0),
        ("resolve", 1.0),
        ("docs", 1.0),
        ("library", 3.0),  # description and a tool's name
        ("docs library", 4.0),  # two tools are two places
        ("context7 mcp server", 8.0),  # once for each place, however many words
        ("context7 library reference agentcore docs", 5 + 3 + 2 + 1.5 + 1 + 2),
        ("art", 0.0),
    ],
)
def test_what_a_mention_is_worth(query: str, expected: float) -> None:
    assert worth(CONTEXT7, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [("1.2.3", 1.0), ("v1.2.3", 1.0), ("1.5", 1.0), ("2.0", 2.0), ("1.2", 0.0), ("1.2.3.4", 0.0), ("3.1", 0.0)],
)
def test_a_version_is_one_word(query: str, expected: float) -> None:
    versioned = Entity("skill", "/s", "n", "Since v2.0.", metadata={"version": "1.2.3", "rate": 1.5, "parts": [1, 3]})
    assert worth(versioned, query) == expected
    assert matched_places(versioned, query_words(query)) == {1.0: ["metadata"], 2.0: ["description"], 0.0: []}[expected]


def test_queries_that_it_answers_count_with_the_tool_or_like_metadata() -> None:
    examples = ("fill my tax return", "which form?")
    skill = Entity("skill", "/s", "forms", "pdf", examples=examples)
    assert (worth(skill, "tax return"), matched_places(skill, query_words("tax return"))) == (1.0, ["metadata"])
    tools = (Tool("alpha", "beta", examples=examples), Tool("gamma"))
    server = Entity("mcp_server", "/s", "n", tools=tools)
    assert (worth(server, "tax return"), matched_places(server, query_words("tax return"))) == (1.0, [])
    assert [tool.name for tool, _ in grade_tools(tools, query_words("tax return"), 5)] == ["alpha"]


def test_a_full_match_is_worth_13_and_a_half() -> None:
    assert MAX_BOOST == 13.5


def test_a_part_of_a_word_is_no_mention() -> None:
    start = Entity("skill", "/start", "start", "How to start with cartography", tags=("starter",))
    assert worth(start, "art") == 0
    assert worth(start, "start") == 10


def test_one_and_many_are_the_same_word() -> None:
    travel = Entity("skill", "/a", "Travel", "Books flights for companies")
    assert [worth(travel, query) for query in ("flight", "flights", "company", "companies")] == [2.0] * 4


def test_what_an_agent_can_do_counts_like_a_tool() -> None:
    agent = Entity("a2a_agent", "/a", "Travel", skills=(Ability("book flight"), Ability("book hotel")))
    assert worth(agent, "book") == 2.0


def test_more_tools_than_an_integer_has_bits() -> None:
    many = Entity("mcp_server", "/m", "Many", tools=tuple(Tool(f"search_{n}") for n in range(100)))
    assert worth(many, "search") == 100.0


def test_the_places_by_name() -> None:
    assert matched_places(CONTEXT7, query_words("context7 region library")) == [
        "path",
        "name",
        "description",
        "metadata",
    ]
    assert matched_places(CONTEXT7, query_words("nothing")) == []
    assert place_names(0b10001) == ["path", "metadata"]


PIECES = [
    "get_user",
    "getUser",
    "libraries",
    "library",
    "C#",
    "C++",
    "caché",
    "cache",
    "buses",
    "a/b-c.d",
    "y",
    "Y2",
    "s3",
    "1.5",
    "v1.2.3",
    "1.2.3-rc.4,",
    "x_1.2",
    "\n",
    "（ä）",
]


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=8).map(" ".join), st.sampled_from(PIECES))
def test_the_places_are_those_that_are_indexed(text: str, query: str) -> None:
    entity = Entity("skill", "/s", text.strip() or "x", text[::-1], tags=tuple(text.split()[:2]), metadata={"a": text})
    entity = replace(entity, examples=tuple(text.split()[2:4]))
    for words in (query_words(query), query_words(text), (query.lower(),)):
        held = mentions(entity)
        places = 0
        for word in words:
            places |= held.get(singular(word), 0)
        assert matched_places(entity, words) == place_names(places)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("strava", 0.5 * 0.7 + 0.3),  # in the name
        ("activities", 0.5 * 0.7 + 0.3),  # in the name and the description: the name counts
        ("weekly", 0.3 * 0.7 + 0.3),  # only in the description
        ("strava activities", 1.0),
        ("strava weekly", 0.8 * 0.7 + 0.3),
        ("strava swimming", 0.5 * 0.7 + 0.5 * 0.3),
        ("swimming", 0.0),
    ],
)
def test_a_tool_is_graded_by_its_own_words(query: str, expected: float) -> None:
    tool = Tool("strava_activities", "Lists the weekly activities")
    assert grade(tool, query_words(query)) == pytest.approx(expected)


def test_no_words_no_grade() -> None:
    assert grade(Tool("a", "b"), ()) == 0.0


def test_tools_that_say_nothing_of_it_are_left_out() -> None:
    tools = (Tool("getStats", "Figures"), Tool("strava_sync", "Brings all"), Tool("other", "From strava"))
    assert [tool.name for tool, _ in grade_tools(tools, ("strava",), 5)] == ["strava_sync", "other"]
    assert len(grade_tools(tools, ("strava",), 1)) == 1


TEXT = st.text(st.sampled_from("abcs_- .#é東京ABC12y"), max_size=30)


@given(TEXT, TEXT, TEXT, TEXT)
def test_grades_are_from_0_to_1_and_0_only_without_a_word(name: str, about: str, example: str, query: str) -> None:
    words = query_words(query)
    tool = Tool(name, about, examples=(example,))
    score = grade(tool, words)
    assert 0.0 <= score <= 1.0
    held = mentions(Entity("mcp_server", "/p", "n", tools=(tool,)))
    mentioned = any(held.get(singular(word), 0) >> 5 for word in words)
    assert (score > 0) == mentioned


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("book", "books"),
        ("box", "boxes"),
        ("search", "searches"),
        ("process", "processes"),
        ("address", "addresses"),
        ("push", "pushes"),
        ("query", "queries"),
        ("database", "databases"),
        ("size", "sizes"),
        ("cache", "caches"),
        ("status", "statuses"),
        ("alias", "aliases"),
        ("movie", "movies"),
        ("workflow", "workflows"),
        ("index", "indexes"),
        ("api", "apis"),
        ("wiki", "wikis"),
    ],
)
def test_however_the_plural_is_made(one: str, many: str) -> None:
    assert singular(one) == singular(many)


@pytest.mark.parametrize("word", ["news", "analysis", "class", "bus", "redis", "kubernetes", "s3", "gas", "series"])
def test_a_word_that_is_no_plural_stays(word: str) -> None:
    assert singular(word) == word


def test_news_is_not_new() -> None:
    assert singular("news") != singular("new")
