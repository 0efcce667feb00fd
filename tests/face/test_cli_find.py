"""`find-tools` and `find-entities`, as a person or a script calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import cli, run

ENTITIES = [
    Entity(
        "mcp_server",
        "/context7",
        "Context7",
        "Documentation of libraries",
        tags=("docs",),
        tools=(Tool("query-docs", "Query the\ndocs", {"type": "object"}), Tool("resolve", "Find an id")),
    ),
    Entity("mcp_server", "/slack", "Slack", "Interact with Slack workspaces", tags=("chat",)),
    Entity("skill", "/skills/pdf", "pdf", "Fill in forms", status="draft"),
]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WATERSMEET__INDEX__VECTORS", "false")
    with Engine(tmp_path / "index", load(start=str(tmp_path))) as engine:
        engine.registry.put(*ENTITIES)
    return str(tmp_path / "index")


def call(index: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--index", index])


def test_tools_for_a_task_as_json(index: str) -> None:
    result = call(index, "find-tools", "query", "the", "docs", "--intent", "a library", "--top-n", "1", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert {"task", "tools", "servers", "failures", "took_ms"} <= answer.keys()
    assert answer["task"] == "query the docs"
    (tool,) = answer["tools"]
    assert tool["tool_name"] == "query-docs"
    assert tool["inputSchema"] == {"type": "object"}


def test_tools_for_a_task_as_lines(index: str) -> None:
    result = call(index, "find-tools", "query the docs", "--pin", "resolve")
    first, second = (line.split("\t") for line in result.stdout.splitlines())
    assert first[:2] == ["query-docs", "/context7"]
    assert "Query the docs" in first
    assert second[0] == "resolve"


def test_a_server_without_tools_is_named_with_the_reason(index: str) -> None:
    result = call(index, "find-tools", "query the docs on slack")
    assert result.exit_code == 0, result.output
    first, second, *_ = (line.split("\t") for line in result.stdout.splitlines())
    assert first[:4] == ["(none listed)", "/slack", "1.00", "Interact with Slack workspaces"]
    assert first[4].startswith("name has slack")
    assert second[:2] == ["query-docs", "/context7"]
    alone = call(index, "find-tools", "slack", "--json")
    assert alone.exit_code == 0
    assert json.loads(alone.stdout)["tools"] == []


def test_nothing_found_is_exit_code_1(index: str) -> None:
    assert call(index, "find-tools", "zebra").exit_code == 1
    assert call(index, "find-entities", "zebra").exit_code == 1


def test_entities_in_groups(index: str) -> None:
    answer = json.loads(call(index, "find-entities", "docs pdf", "--include-draft", "--json").stdout)
    assert answer["search_mode"] == "lexical-only"
    assert [server["path"] for server in answer["servers"]] == ["/context7"]
    assert [skill["path"] for skill in answer["skills"]] == ["/skills/pdf"]
    only = json.loads(call(index, "find-entities", "docs", "--type", "tool", "--json").stdout)
    assert not only["servers"]
    assert [tool["tool_name"] for tool in only["tools"]] == ["query-docs"]


def test_entities_as_lines(index: str) -> None:
    result = call(index, "find-entities", "#docs")
    assert result.stdout.split("\t")[:3] == ["Context7", "mcp_server", "/context7"]


@pytest.mark.parametrize(
    "arguments",
    [("find-entities",), ("find-entities", "x", "-n", "51"), ("find-entities", "x", "--type", "robot")],
)
def test_what_cannot_be_answered_is_exit_code_2(
    index: str, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--index", index]) == 2
    assert "hint" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["find-tools", "find-entities"])
def test_that_nothing_fits_is_said_beside_the_answer(index: str, command: str) -> None:
    result = call(index, command, "resolve a dispute about xylophones between neighbours and zebras")
    assert "no good match" in result.stderr
    assert "no good match" not in result.stdout
    assert "no good match" not in call(index, command, "query the docs").stderr
