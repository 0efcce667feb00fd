"""Servers that fit a task and list no tools, beside the tools, on one scale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registries import opened
from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.core.visibility import EVERYONE, Viewer

FLOW = "Creates a flow of tasks.\n\nExample: orchestrate all my JIRA extractors."
LISTED = [
    Entity("mcp_server", "/keboola", "Keboola", "Data pipelines", tools=(Tool("create_flow", FLOW),)),
    Entity(
        "mcp_server",
        "/gmail",
        "Gmail",
        "Mail of Google",
        tools=(Tool("sendMessage", "Send an email message"), Tool("listMessages", "List recent messages")),
    ),
    Entity(
        "mcp_server",
        "/stripe",
        "Stripe",
        "Payments",
        tools=(Tool("create_invoice", "Creates an invoice"), Tool("create_refund", "Creates a refund")),
    ),
]
TOOLLESS = [
    Entity("mcp_server", "/atlassian", "Atlassian", "Tools for Confluence and Jira.", tags=("confluence", "jira")),
    Entity("mcp_server", "/slack", "Slack (Archived)", "Interact with Slack workspaces over the API.", tags=("slack",)),
    Entity("mcp_server", "/weather", "Openweather", "The current weather and a forecast: rain, wind, sun."),
    Entity("mcp_server", "/secret", "Fogbank", "Jira for a few.", visibility="private", owner="ann"),
    Entity("mcp_server", "/old", "Jira classic", "Jira of old.", status="deprecated"),
    Entity("a2a_agent", "/agents/clerk", "Clerk", "Creates a jira ticket"),
    Entity("skill", "/skills/jira", "jira", "Creates a jira ticket"),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with opened(tmp_path_factory.mktemp("registry")) as made:
            made.registry.put(*LISTED, *TOOLLESS)
            yield made


def found(engine: Engine, task: str, **how: Any) -> dict[str, Any]:
    how.setdefault("viewer", EVERYONE)
    return engine.registry.find_tools(task, **how).to_json()


MODES = ["", "lexical", "static", "dense"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("task", "path", "other"),
    [
        ("create a jira ticket", "/atlassian", "create_flow"),
        ("send a slack message", "/slack", "sendMessage"),
        ("will there be rain and wind", "/weather", ""),
    ],
)
def test_the_server_that_a_task_names_is_before_the_tools(
    engine: Engine, task: str, path: str, other: str, mode: str
) -> None:
    answer = found(engine, task, mode=mode)
    assert answer["failures"] == []
    first = answer["servers"][0]
    assert list(first) == ["server_path", "server_name", "description", "endpoint_url", "score", "why", "review"]
    assert (first["server_path"], first["score"]) == (path, 1.0)
    assert all(tool["score"] <= 0.5 for tool in answer["tools"] if tool["tool_name"] == other)
    assert other == "" or other in [tool["tool_name"] for tool in answer["tools"]]


def test_why_a_server_is_named(engine: Engine) -> None:
    first = found(engine, "send a slack message", mode="lexical")["servers"][0]
    assert first["server_name"] == "Slack (Archived)"
    assert first["description"] == "Interact with Slack workspaces over the API."
    assert first["why"].startswith("name has slack; tags have slack; description has slack; lexical#")


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_does_the_task_is_first(engine: Engine, mode: str) -> None:
    answer = found(engine, "create an invoice", mode=mode)
    assert (answer["tools"][0]["tool_name"], answer["tools"][0]["score"]) == ("create_invoice", 1.0)
    assert all(server["score"] < 1 for server in answer["servers"])


@pytest.mark.parametrize("mode", MODES)
def test_only_servers_without_tools_that_the_viewer_may_see(engine: Engine, mode: str) -> None:
    paths = {server["server_path"] for server in found(engine, "create a jira ticket", mode=mode)["servers"]}
    assert paths <= {"/atlassian", "/slack", "/weather"}
    ann = found(engine, "create a jira ticket", mode=mode, viewer=Viewer("ann"))["servers"]
    assert "/secret" in {server["server_path"] for server in ann}


def test_servers_take_no_places_of_tools(engine: Engine) -> None:
    for top_n in (1, 2, 4):
        answer = found(engine, "create a jira ticket message invoice", top_n=top_n)
        assert len(answer["tools"]) == top_n
        assert len(answer["servers"]) <= -(-top_n // 2)
        scores = [server["score"] for server in answer["servers"]]
        assert scores == sorted(scores, reverse=True)
        assert all(0.2 <= score <= 1 for score in scores)


def test_where_every_server_lists_its_tools_nothing_changes(tmp_path: Path) -> None:
    tables: list[Any] = []
    for setting in ("true", "false"):
        with opened(tmp_path / setting, REGISTRY__TOOLLESS_SERVERS=setting, INDEX__VECTORS="false") as engine:
            engine.registry.put(*LISTED)
            answer = found(engine, "create an invoice in Stripe and send it in a message")
            assert answer["servers"] == []
            tables.append(answer["tools"])
    assert tables[0] == tables[1]


def test_a_registry_without_any_tool(tmp_path: Path) -> None:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(*TOOLLESS)
        answer = found(engine, "send a slack message")
        assert answer["tools"] == []
        assert [server["server_path"] for server in answer["servers"]] == ["/slack"]


def test_other_recipes_rank_tools_alone(engine: Engine) -> None:
    answer = found(engine, "create a jira ticket", recipe="registry")
    assert answer["servers"] == []
    assert answer["tools"][0]["score"] == 1.0
