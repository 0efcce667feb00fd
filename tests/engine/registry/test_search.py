"""What a registry answers, in every mode and recipe: the same entities, the same tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registries import ENTITIES, GROUPS, PATHS, SCHEMA, ask, opened, paths, ranked
from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.core.errors import ConfigError
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.registry.scope import MIN_PER_KIND_FILLED, candidates
from watersmeet.engine.registry.search import tool_limit


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with opened(tmp_path_factory.mktemp("registry")) as made:
            made.registry.put(*ENTITIES)
            yield made


# ---------------------------------------------------------------- what is found


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_context7_is_first_for_its_name(engine: Engine, recipe: str, mode: str) -> None:
    answer = ask(engine, "context7", recipe, mode)
    assert answer["servers"][0]["path"] == "/context7"
    assert ranked(answer)[0]["path"] == "/context7"


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("context7", "/context7"),  # the path
        ("travel", "/agents/travel"),  # the name
        ("athlete", "/strava"),  # the description
        ("code", "/context7"),  # a tag
        ("marguerite", "/skills/pdf"),  # the metadata
        ("segments", "/strava"),  # a tool's name
        ("season", "/strava"),  # a tool's description
        ("hotels", "/agents/travel"),  # what an agent can do
    ],
)
def test_every_place_can_be_found(engine: Engine, recipe: str, mode: str, query: str, path: str) -> None:
    assert next(item["path"] for item in ranked(ask(engine, query, recipe, mode)) if "path" in item) == path


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_only_tools_that_say_the_word(engine: Engine, recipe: str, mode: str) -> None:
    answer = ask(engine, "strava", recipe, mode)
    assert answer["servers"][0]["path"] == "/strava"
    assert [tool["tool_name"] for tool in answer["tools"]] == ["strava_segments"]
    assert [tool["tool_name"] for tool in answer["servers"][0]["matching_tools"]] == ["strava_segments"]


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_in_the_recipe_registry_a_tool_has_the_same_score_on_every_path(engine: Engine, mode: str) -> None:
    (tool,) = [t for t in ask(engine, "query docs", "registry", mode)["tools"] if t["tool_name"] == "query-docs"]
    assert tool["relevance_score"] == 1.0
    (tool,) = ask(engine, "strava", "registry", mode)["tools"]
    assert tool["relevance_score"] == 0.65


def test_tools_and_entities_have_one_scale(engine: Engine) -> None:
    answer = ask(engine, "strava", mode="lexical")
    assert answer["servers"][0]["relevance_score"] == round((5 + 3 + 1) / 13.5, 4)  # path, name and a tool
    (tool,) = answer["tools"]
    assert tool["relevance_score"] == round(3 / 13.5, 4)  # its name
    answer = ask(engine, "segments nearby")
    assert answer["tools"][0]["relevance_score"] == answer["servers"][0]["relevance_score"] == 1.0
    assert answer["tools"][0]["tool_name"] == "strava_segments"


@pytest.mark.parametrize("recipe", ["", "registry"])
def test_without_vectors_the_score_is_a_share_of_a_full_match(engine: Engine, recipe: str) -> None:
    server = ask(engine, "context7", recipe, "lexical")["servers"][0]
    assert server["relevance_score"] == round(8 / 13.5, 4)
    assert server["similarity_score"] is None
    assert ask(engine, "context7", recipe)["servers"][0]["relevance_score"] == 1.0


def test_many_tools_are_at_most_a_full_match(tmp_path: Path) -> None:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(
            Entity("mcp_server", "/m", "Many", tools=tuple(Tool(f"paint_{n}", "Paint it") for n in range(70)))
        )
        (server,) = ask(engine, "paint", mode="lexical")["servers"]
        assert server["relevance_score"] == 1.0
        assert len(server["matching_tools"]) == 6


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize("query", [".*(", ".*", "^$", "(?:", "\\", "%"])
def test_a_pattern_is_neither_an_error_nor_everything(engine: Engine, recipe: str, mode: str, query: str) -> None:
    answer = engine.registry.search(EntityRequest(query, recipe=recipe, mode=mode)).to_json()
    assert paths(answer) == set()


def test_a_part_of_a_word_finds_nothing(engine: Engine) -> None:
    assert paths(ask(engine, "ontext", mode="lexical")) == set()


# ---------------------------------------------------------------- the shape of the answer


def test_the_request_of_the_source_document(engine: Engine) -> None:
    request: dict[str, Any] = {
        "query": "feature flags",
        "entity_types": ["skill"],
        "max_results": 10,
        "include_deprecated": True,
        "include_draft": False,
    }
    found = paths(engine.registry.search(EntityRequest(**{**request, "entity_types": ("skill",)})).to_json())
    assert {"/flags/one", "/flags/two", "/flags/old"} <= found
    assert not {"/flags/new", "/flags/off"} & found
    assert not any(path in found for path in ("/context7", "/strava", "/agents/travel"))


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_the_grouped_answer(engine: Engine, recipe: str, mode: str) -> None:
    answer = ask(engine, "context7 docs development pdf travel", recipe, mode, max_results=50)
    scored = {"relevance_score", "similarity_score", "match_context", "entity_type"}
    server = answer["servers"][0]
    assert {"path", "server_name", "description", "tags", "matching_tools", *scored} <= server.keys()
    assert {"tool_name", "description"} <= server["matching_tools"][0].keys()
    assert "inputSchema" not in server["matching_tools"][0]
    (tool,) = [tool for tool in answer["tools"] if tool["tool_name"] == "query-docs"]
    assert {"server_path", "server_name", "tool_name", "description", "inputSchema", *scored} <= tool.keys()
    assert tool["inputSchema"] == SCHEMA
    assert tool["server_path"] == "/context7"
    (agent,) = answer["agents"]
    assert {"path", "agent_name", "description", "tags", "skills", *scored} <= agent.keys()
    assert {"path", "skill_name", "description", "author", "version", *scored} <= answer["skills"][0].keys()
    (virtual,) = answer["virtual_servers"]
    assert virtual["entity_type"] == "virtual_server"
    assert virtual["backend_paths"] == ["/github", "/jira"]
    assert virtual["tool_count"] == 1
    assert [tool["tool_name"] for tool in virtual["matching_tools"]] == ["github_search"]
    assert {"path", "server_name", "description", "relevance_score", "tags"} <= virtual.keys()
    for group in GROUPS:
        assert answer[f"total_{group}"] == len(answer[group])
        scores = [item["relevance_score"] for item in answer[group]]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_the_cosine_is_the_models_own(engine: Engine) -> None:
    server = ask(engine, "context7", "registry")["servers"][0]
    assert -1 <= server["similarity_score"] <= 1
    assert server["similarity_score"] != server["relevance_score"]


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_one_type_or_some(engine: Engine, recipe: str, mode: str) -> None:
    how: dict[str, Any] = {"recipe": recipe, "mode": mode}
    for kind, group in (("mcp_server", "servers"), ("tool", "tools"), ("virtual_server", "virtual_servers")):
        answer = ask(engine, "docs search development", entity_types=(kind,), **how)
        assert answer[group]
        assert not any(answer[other] for other in GROUPS if other != group)


def test_no_saturation(engine: Engine) -> None:
    """The first stands out, and what is far below it is gone once there are three."""
    scores = [item["relevance_score"] for item in ranked(ask(engine, "feature flags one", "registry", max_results=50))]
    assert scores[0] == 1.0
    assert scores.count(1.0) == 1
    assert all(score >= 0.2 for score in scores[3:])


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(("asked", "limit"), [(1, 3), (5, 3), (10, 6), (50, 30)])
def test_how_many_tools(asked: int, limit: int) -> None:
    assert tool_limit(asked) == limit


def test_how_many_candidates() -> None:
    assert candidates(1, 1) == 50
    assert candidates(20, 1) == 60
    assert candidates(10, 4) == 30
    assert candidates(20, 4) == 40
    assert candidates(10, 4, MIN_PER_KIND_FILLED) == 20
    assert all(4 * candidates(n, 4) >= max(3 * n, 50) for n in range(1, 51))


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (EntityRequest("x", max_results=0), "max_results"),
        (EntityRequest("x", max_results=51), "max_results"),
        (EntityRequest("x" * 513), "513"),
        (EntityRequest("   "), "neither a query nor a tag"),
        (EntityRequest("", tags=("a",), mode="densest"), "no mode called"),
        (EntityRequest("x", entity_types=("skil",)), "skil"),
        (EntityRequest("x", mode="fuzzy"), "fuzzy"),
    ],
)
def test_what_cannot_be_answered(engine: Engine, request_: EntityRequest, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        engine.registry.search(request_).to_json()
    assert caught.value.hint


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize("most", [1, 2, 3, 5, 10, 50])
def test_never_more_than_asked_for(engine: Engine, recipe: str, mode: str, most: int) -> None:
    answer = ask(engine, "docs of a library pdf travel development flags", recipe, mode, max_results=most)
    assert sum(len(answer[group]) for group in GROUPS) <= most
