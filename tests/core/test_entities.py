"""What is embedded of an entity, how it becomes JSON and comes back, and who may see it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.entities import (
    KINDS,
    MAX_SERVER_TEXT,
    Ability,
    Entity,
    Tool,
    audience,
    embedding_text,
    entity_of,
    flatten,
    metadata_text,
    record,
    status_of,
    tool_text,
)
from watersmeet.core.errors import ConfigError
from watersmeet.core.visibility import (
    AUDIENCE_GATE,
    ENABLED_GATE,
    EVERYONE,
    LIFECYCLE_GATE,
    OWNER,
    STATUSES,
    Viewer,
    audience_gates,
    gates,
)

SERVER = Entity(
    kind="mcp_server",
    path="/secret-path",
    name="Context7",
    description="Docs for code.",
    tags=("docs", "code"),
    tools=(
        Tool("query-docs", "Ask the docs.", {"properties": {"hidden_parameter": {"description": "which"}}}),
        Tool("resolve", "Find a library."),
    ),
    metadata={"source": "agentcore-sync", "region": "us-east-1"},
)


# ------------------------------------------------------------ F22 to F30


def test_the_text_of_a_server() -> None:
    assert embedding_text(SERVER) == (
        "Context7\nDocs for code.\nTags: docs, code\nsource agentcore-sync region us-east-1"
        "\nquery-docs\nAsk the docs.\nresolve\nFind a library."
    )


def test_the_text_of_an_agent() -> None:
    agent = Entity(
        kind="a2a_agent",
        path="/secret-path",
        name="Planner",
        description="Plans trips.",
        tags=("travel",),
        capabilities=("streaming", "pushNotifications"),
        metadata={"team": "blue"},
        skills=(Ability("Book", "Books flights.", "secret-id", ("secret-tag",), ("secret example",)),),
    )
    assert embedding_text(agent) == (
        "Planner\nPlans trips.\nTags: travel\nCapabilities: streaming, pushNotifications\nteam blue"
        "\nBook\nBooks flights."
    )


def test_the_text_of_a_skill() -> None:
    skill = Entity(
        kind="skill",
        path="/secret-path",
        name="pdf",
        description="Fills forms.",
        tags=("office",),
        metadata={"author": "Ada", "version": "1.2", "domain": "law", "registry_name": "main"},
        examples=("secret example",),
        body="secret body",
    )
    assert embedding_text(skill) == "pdf\nFills forms.\nTags: office\nAda 1.2 domain law"
    assert metadata_text(skill) == "Ada 1.2 domain law main"


def test_the_text_of_a_virtual_server() -> None:
    virtual = Entity(
        kind="virtual_server",
        path="/virtual/secret",
        name="Dev Tools",
        description="Aggregated.",
        tags=("dev",),
        tools=(Tool("github_search"), Tool("jira", "Our tickets.", {"properties": {"secret": {}}})),
        metadata={"created_by": "ada"},
        extra={"backend_paths": ["/secret"], "required_scopes": ["secret"]},
    )
    assert embedding_text(virtual) == "Dev Tools\nAggregated.\nTags: dev\ngithub_search\njira\nOur tickets."
    assert metadata_text(virtual) == "ada"


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"source": "agentcore-sync", "region": "us-east-1"}, "source agentcore-sync region us-east-1"),
        ({"tags": ["a", 1, True]}, "tags a 1 True"),
        ({"limits": {"cpu": 2, "memory": "4G"}}, "limits 2 4G"),
        ({"empty": None, "zero": 0}, "empty zero 0"),
        ({}, ""),
    ],
)
def test_flattened_metadata(metadata: dict[str, object], text: str) -> None:
    assert flatten(metadata) == text


def test_a_tool_by_itself_says_whose_it_is_and_what_it_takes() -> None:
    tool = Tool("t", "Does it.", {"properties": {"city": {"description": "where"}, "day": {}}}, ("rain in Oslo?",))
    assert tool_text(tool, SERVER) == [
        "Does it.",
        "Parameters: city: where; day",
        "Context7: Docs for code.",
    ]


@pytest.mark.parametrize("description", ["word " * 10_000, "x" * 50_000, " " * 50_000])
def test_a_tool_says_only_the_beginning_of_what_its_server_says(description: str) -> None:
    whose = tool_text(Tool("t"), Entity("mcp_server", "/s", "Sea", description))[-1]
    assert len(whose) <= len("Sea: ") + MAX_SERVER_TEXT
    assert set(whose.removeprefix("Sea").removeprefix(":").split()) <= {"word", "x" * MAX_SERVER_TEXT}


# ------------------------------------------------------------ as JSON and back

words = st.text(st.characters(codec="utf-8"), max_size=8)
named = words.filter(bool)
some = st.lists(words, max_size=3).map(tuple)
entities = st.builds(
    Entity,
    kind=st.sampled_from(KINDS),
    path=named,
    name=named,
    description=words,
    tags=some,
    tools=st.lists(st.builds(Tool, named, words, st.dictionaries(words, words), some), max_size=2).map(tuple),
    status=st.sampled_from(STATUSES),
    enabled=st.booleans(),
    visibility=st.sampled_from(("public", "private", "group")),
    groups=some,
    owner=words,
    metadata=st.dictionaries(words, words | st.integers() | st.lists(words), max_size=3),
    capabilities=some,
    skills=st.lists(st.builds(Ability, named, words, words, some, some), max_size=2).map(tuple),
    examples=some,
    body=words,
    extra=st.dictionaries(words, words, max_size=2),
)


@pytest.mark.slow
@given(entities)
def test_there_and_back_again(entity: Entity) -> None:
    assert entity_of(json.loads(json.dumps(record(entity)))) == entity


# ------------------------------------------------------------ lifecycle


@pytest.mark.parametrize(("said", "kept"), [(None, "active"), ("", "active"), ("Beta", "beta"), (" draft ", "draft")])
def test_a_status(said: str | None, kept: str) -> None:
    assert status_of(said) == kept


def test_an_unknown_status_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="depricated") as error:
        status_of("depricated")
    assert "'deprecated'" in error.value.hint


@pytest.mark.parametrize("wrong", [{"kind": "A robot"}, {"status": "old"}, {"visibility": "secret"}, {"name": ""}])
def test_what_cannot_be_an_entity(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        Entity(**{"kind": "skill", "path": "/x", "name": "x", **wrong})  # type: ignore[arg-type]  # that is the test


def test_the_gates_of_a_search() -> None:
    assert gates() == {LIFECYCLE_GATE: ("active", "beta"), ENABLED_GATE: ("true",)}
    assert gates(include_deprecated=True)[LIFECYCLE_GATE] == ("active", "beta", "deprecated")
    assert gates(include_draft=True)[LIFECYCLE_GATE] == ("active", "beta", "draft")
    assert gates(include_disabled=True)[ENABLED_GATE] == ("true", "false")


# ------------------------------------------------------------ who may see what


def allowed(entity: Entity, viewer: Viewer | None) -> bool:
    gate = audience_gates(viewer)
    return not gate or bool(set(gate[AUDIENCE_GATE]) & set(audience(entity)))


def of(**standing: object) -> Entity:
    return Entity("skill", "/x", "x", **standing)  # type: ignore[arg-type]  # as the test says


@pytest.mark.parametrize(
    ("entity", "viewer", "seen"),
    [
        (of(), EVERYONE, True),
        (of(visibility="private", owner="ada"), EVERYONE, False),
        (of(visibility="private", owner="ada"), Viewer("ada"), True),
        (of(visibility="private", owner="ada"), Viewer("bob", ("ada",)), False),
        (of(visibility="private", owner="Ada"), Viewer("ada"), False),
        (of(visibility="private", owner="Ada"), Viewer("Ada"), True),
        (of(visibility="private"), Viewer("", ("staff",)), False),
        (of(visibility="private"), OWNER, True),
        (of(visibility="private", owner="ada", groups=("staff",)), Viewer("bob", ("staff",)), True),
        (of(visibility="private", owner="ada", groups=("staff",)), Viewer("bob", ("crew",)), False),
        (of(visibility="private", owner="ada", groups=("staff",)), Viewer("ada"), True),
        (of(visibility="private", owner="ada", groups=("staff",)), EVERYONE, False),
        (of(visibility="group", groups=("staff",)), Viewer("bob", ("staff",)), True),
        (of(visibility="group", groups=("staff",)), Viewer("staff"), False),
        (of(visibility="group", groups=("staff",), owner="ada"), Viewer("ada"), True),
        (of(visibility="group"), Viewer("bob", ("staff",)), False),
        (of(visibility="private", owner="a" * 999), Viewer("a" * 998), False),
        (of(visibility="private", owner="a" * 999), Viewer("a" * 999), True),
    ],
)
def test_who_sees_it(entity: Entity, viewer: Viewer, seen: bool) -> None:
    assert allowed(entity, viewer) is seen


@pytest.mark.slow
@given(entities)
def test_everything_has_an_audience_that_a_facet_can_hold(entity: Entity) -> None:
    """Without the facet a document is for everyone: a value that is dropped would open it."""
    assert audience(entity)
    assert all(value == value.casefold() and 0 < len(value) <= 256 for value in audience(entity))
