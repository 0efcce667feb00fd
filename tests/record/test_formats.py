"""Every form that records come in: known by its content, and read for what it says."""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.core.entities import Entity, Refused, Tool, embedding_text, record
from watersmeet.core.plain import plain
from watersmeet.core.records import Origin
from watersmeet.engine.components import build
from watersmeet.engine.registry.reading import FORMATS, Listed, understood
from watersmeet.present.registry import Found, grouped

CONTEXT7 = {
    "path": "/context7",
    "server_name": "Context7 MCP Server",
    "description": "Docs for code",
    "tags": ["docs"],
    "tool_list": [{"name": "query-docs", "description": "Ask", "inputSchema": {"type": "object"}}],
    "status": "Beta",
    "is_enabled": False,
    "metadata": {"team": "blue"},
    "proxy_pass_url": "https://mcp.example/",
}
AGENT = {
    "path": "/planner",
    "name": "Planner",
    "description": "Plans",
    "capabilities": {"streaming": True, "pushNotifications": False},
    "skills": [{"id": "b", "name": "Book", "description": "Books flights", "examples": ["to Oslo"]}],
    "visibility": "group-restricted",
    "allowed_groups": ["staff"],
    "registered_by": "ada",
}
SKILL = {
    "path": "/skills/pdf",
    "name": "pdf",
    "description": "Forms",
    "skill_md_url": "https://x/SKILL.md",
    "metadata": {"author": "Ada", "version": "2", "extra": {"domain": "law"}},
    "registry_name": "main",
}
VIRTUAL = {
    "path": "/virtual/dev",
    "server_name": "Dev",
    "status": "draft",
    "created_by": "ada",
    "required_scopes": ["dev"],
    "tool_mappings": [
        {"tool_name": "search", "alias": "github_search", "backend_server_path": "/github"},
        {"tool_name": "issue", "backend_server_path": "/jira", "description_override": "Our tickets"},
    ],
}
BACKENDS = {"path": "/virtual/few", "server_name": "Few", "backend_paths": ["/jira"], "tools": [{"name": "issue"}]}
OFFICIAL = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json",
    "name": "io.github.ada/weather",
    "description": "Weather",
    "version": "1.0.0",
    "repository": {"url": "https://github.com/ada/weather", "source": "github"},
    "packages": [{"registryType": "npm", "identifier": "weather"}],
}
CARD = {
    "name": "Trip Planner",
    "description": "Plans",
    "url": "https://agents.example/trip",
    "protocolVersion": "0.3.0",
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "skills": [{"id": "x", "name": "Book", "description": "Books", "tags": ["air"]}],
}
CATALOG = {
    "version": 3,
    "registry": {
        "brave": {
            "title": "Brave Search",
            "description": "Search the web",
            "image": "mcp/brave",
            "tools": [{"name": "web_search"}, {"name": "news"}],
            "metadata": {"category": "search", "tags": ["web"], "pulls": 7},
        },
        "broken": {"tools": "none"},
        "empty": 3,
    },
}
ENTRY = {
    "name": "brave",
    "image": "mcp/brave",
    "meta": {"category": "search", "tags": ["web"]},
    "about": {"title": "Brave Search", "description": "Search the web"},
    "source": {"project": "https://github.com/brave/x"},
}
BEIR = {"_id": "https://github.com/a/b", "title": "a/b", "text": "Does it", "metadata": {"category": "Web"}}
TOOL = {"name": "add", "description": "Adds", "inputSchema": {"properties": {"a": {"description": "one"}}}}


def read(value: Any, **origin: str) -> list[Any]:
    found = all_of(value, **origin)
    return [item if isinstance(item, Refused | Listed) else item[1] for item in found]


def all_of(value: Any, **origin: str) -> list[Any]:
    return list(understood([("here", value)], Origin("here", **{"name": "file", **origin})))


@pytest.mark.parametrize(
    ("value", "format"),
    [
        (CONTEXT7, "gateway"),
        (AGENT, "gateway"),
        (SKILL, "gateway"),
        (VIRTUAL, "gateway"),
        (OFFICIAL, "official"),
        ({"server": OFFICIAL, "_meta": {}}, "official"),
        ({"servers": [{"server": OFFICIAL}], "metadata": {"count": 1}}, "official"),
        (CARD, "card"),
        (CATALOG, "catalogue"),
        (ENTRY, "catalogue"),
        ({"front_matter": {"name": "x"}, "body": ""}, "skill"),
        (BEIR, "beir"),
        (TOOL, "toolset"),
        ({"tools": [TOOL]}, "toolset"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}}, "toolset"),
        ({"type": "function", "function": {"name": "add", "parameters": {}}}, "toolset"),
    ],
)
def test_who_knows_it(value: Any, format: str) -> None:
    """One knows it; nobody asked before that one does."""
    assert next(name for name in FORMATS if build("record", name, {}).knows(value)) == format


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, {"name": "x"}, {"servers": {}}, {"path": 3}])
def test_nobody_knows_what_is_no_record(value: Any) -> None:
    assert not any(build("record", name, {}).knows(value) for name in FORMATS)


def test_a_server_of_a_gateway() -> None:
    (server,) = read(CONTEXT7)
    assert (server.kind, server.path, server.name, server.status) == (
        "mcp_server",
        "/context7",
        "Context7 MCP Server",
        "beta",
    )
    assert server.enabled is False
    assert server.tools == (Tool("query-docs", "Ask", {"type": "object"}),)
    assert (server.metadata, server.extra) == ({"team": "blue"}, {"proxy_pass_url": "https://mcp.example/"})


def test_an_agent_of_a_gateway() -> None:
    (agent,) = read(AGENT)
    assert (agent.kind, agent.capabilities, agent.owner) == ("a2a_agent", ("streaming",), "ada")
    assert (agent.visibility, agent.groups) == ("group", ("staff",))
    assert (agent.skills[0].name, agent.skills[0].id, agent.skills[0].examples) == ("Book", "b", ("to Oslo",))


def test_a_skill_of_a_gateway() -> None:
    (skill,) = read(SKILL)
    assert skill.kind == "skill"
    assert skill.metadata == {"registry_name": "main", "author": "Ada", "version": "2", "domain": "law"}


def test_a_virtual_server_is_always_active() -> None:
    (virtual,) = read(VIRTUAL)
    assert (virtual.kind, virtual.status) == ("virtual_server", "active")
    assert virtual.tools == (Tool("github_search"), Tool("issue", "Our tickets"))
    assert virtual.metadata == {
        "server_name": "Dev",
        "num_tools": 2,
        "backend_count": 2,
        "backend_paths": ["/github", "/jira"],
        "required_scopes": ["dev"],
        "supported_transports": [],
        "created_by": "ada",
    }


def test_lists_of_a_gateway_say_what_is_in_them() -> None:
    plain = {"path": "/a", "name": "A"}
    found = read({"servers": [CONTEXT7], "agents": [plain], "skills": [{"path": "/b", "name": "B"}]})
    assert [entity.kind for entity in found] == ["mcp_server", "a2a_agent", "skill"]


@pytest.mark.parametrize(
    "value", [CONTEXT7, AGENT, SKILL, VIRTUAL, BACKENDS, OFFICIAL, CARD, BEIR, CATALOG["registry"]]
)
def test_what_the_registry_gives_out_can_be_registered(value: Any) -> None:
    for entity in read({"registry": value} if value is CATALOG["registry"] else value):
        if isinstance(entity, Entity):
            assert read(record(entity)) == [entity]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"path": "/x", "agent_name": "X", "skills": []}, "a2a_agent"),
        ({"path": "/x", "skill_name": "X"}, "skill"),
        ({"path": "/agents/x", "name": "X"}, "a2a_agent"),
        ({"path": "/x", "name": "X", "url": "https://x", "capabilities": {"streaming": True}}, "a2a_agent"),
        ({"path": "/x", "server_name": "X", "backend_paths": ["/a"], "tools": [{"name": "t"}]}, "virtual_server"),
        ({"path": "/agents/x", "server_name": "X"}, "mcp_server"),
        ({"path": "/agents/x", "name": "X", "tools": [{"name": "t"}]}, "mcp_server"),
        ({"path": "/x", "name": "X", "url": "https://x", "capabilities": {}, "tools": ["t"]}, "mcp_server"),
        ({"path": "/x", "name": "X"}, "mcp_server"),
    ],
)
def test_what_a_record_is_that_does_not_say(value: Any, kind: str) -> None:
    (entity,) = read(value)
    assert (entity.kind, entity.name, entity.extra.keys() - {"url"}) == (kind, "X", set())


def test_what_stands_beside_the_metadata_of_a_skill_is_metadata() -> None:
    own = {"extra": {"lic": "mit", "tier": ["gold"]}, "author": "Ada"}
    (skill,) = read({"path": "/skills/pdf", "name": "pdf", "metadata": {"team": "blue"}, **own})
    assert skill.metadata == {"lic": "mit", "tier": ["gold"], "author": "Ada", "team": "blue"}
    assert skill.extra == {}
    assert embedding_text(skill) == "pdf\nAda lic mit tier gold team blue"


@pytest.mark.parametrize("value", [AGENT, SKILL])
def test_what_an_answer_shows_can_be_registered(value: Any) -> None:
    (entity,) = read(value)
    (group,) = (found for found in grouped([Found(entity, 0.5, ())], "forms", 3).values() if found)
    (again,) = read(plain(group[0]))
    assert (again.kind, again.path, again.name, again.metadata) == (
        entity.kind,
        entity.path,
        entity.name,
        entity.metadata,
    )
    assert again.extra == {}


def test_the_official_registry() -> None:
    (server,) = read(OFFICIAL)
    assert (server.path, server.name) == ("/io.github.ada/weather", "io.github.ada/weather")
    assert server.extra["location"] == "https://github.com/ada/weather"
    meta = "io.modelcontextprotocol.registry/official"
    old = {"server": {**OFFICIAL, "description": "Old"}, "_meta": {meta: {"isLatest": False}}}
    new = {"server": OFFICIAL, "_meta": {meta: {"isLatest": True, "status": "deprecated", "updatedAt": "2026-01-02"}}}
    gone = {"server": {**OFFICIAL, "name": "x/y"}, "_meta": {meta: {"status": "deleted"}}}
    first, second, refused = read({"servers": [old, new, gone]})
    assert (first.description, first.extra["isLatest"]) == ("Old", False)
    assert (second.description, second.status, second.extra["isLatest"]) == ("Weather", "deprecated", True)
    assert "deleted" in refused.reason


def test_a_card() -> None:
    (agent,) = read(CARD)
    assert (agent.kind, agent.path) == ("a2a_agent", "/agents/trip-planner")
    assert (agent.capabilities, agent.skills[0].tags) == (("streaming",), ("air",))
    assert agent.extra["location"] == "https://agents.example/trip"


def test_a_catalogue_with_bad_entries() -> None:
    brave, broken, empty = read(CATALOG)
    assert (brave.path, brave.name, brave.tags) == ("/brave", "Brave Search", ("web",))
    assert [tool.name for tool in brave.tools] == ["web_search", "news"]
    assert brave.metadata == {"category": "search"}
    assert (broken.record, broken.reason) == ("here (broken)", "`tools` is not a list")
    assert "object" in empty.reason


def test_an_entry_of_a_catalogue() -> None:
    (brave,) = read(ENTRY)
    assert (brave.path, brave.name, brave.metadata) == ("/brave", "Brave Search", {"category": "search"})


def test_a_record_of_a_corpus() -> None:
    (server,) = read(BEIR)
    assert (server.kind, server.path, server.name) == ("mcp_server", "https://github.com/a/b", "a/b")
    (skill,) = read({**BEIR, "metadata": {"kind": "skill", "body": "How", "author": "Ada"}})
    assert (skill.kind, skill.body, skill.metadata) == ("skill", "How", {"author": "Ada"})


@pytest.mark.parametrize(
    ("text", "description", "tools"),
    [
        ("Does it. Tools: ", "Does it.", {}),
        ("Does it. Tools: a_b: One; c-d: Two; three", "Does it.", {"a_b": "One", "c-d": "Two; three"}),
        ("Nothing here", "Nothing here", {}),
        ("We have Tools: many of them", "We have Tools: many of them", {}),
        ("Says x: y. Tools: get: Gets it; e.g. all", "Says x: y.", {"get": "Gets it; e.g. all"}),
    ],
)
def test_tools_that_a_text_names(text: str, description: str, tools: dict[str, str]) -> None:
    (server,) = read({"_id": "x", "title": "X", "text": text})
    assert server.description == description
    assert {tool.name: tool.description for tool in server.tools} == tools


def test_tools_of_nobody_belong_to_their_file() -> None:
    (listed,) = all_of({"tools": [TOOL, {"name": "sub", "arguments": [{"name": "b", "desc": "two"}]}]})
    assert isinstance(listed, Listed)
    assert (listed.name, [tool.name for tool in listed.tools]) == ("file", ["add", "sub"])
    assert listed.tools[1].schema == {"type": "object", "properties": {"b": {"description": "two"}}}
    (listed,) = all_of([TOOL, {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])
    assert [tool.schema.get("type") for tool in listed.tools] == [None, "object"]


def test_tools_of_a_server_that_says_its_name() -> None:
    (server,) = read({"serverInfo": {"name": "Calc", "version": "1"}, "instructions": "Counts", "tools": [TOOL]})
    assert (server.path, server.description, server.tools[0].name) == ("/calc", "Counts", "add")


def test_a_corpus_of_tools() -> None:
    (listed,) = all_of([{"_id": "t1", "title": "T1", "text": "Does"}, {"_id": "t2", "text": "Too"}], kind="tool")
    assert [(tool.name, tool.description) for tool in listed.tools] == [("t1", "Does"), ("t2", "Too")]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"path": "/x"}, "no `server_name`"),
        ({"path": "/x", "server_name": ["x"]}, "`server_name` is not a text"),
        ({**CONTEXT7, "status": "depricated"}, "unknown status 'depricated'; did you mean 'deprecated'?"),
        ({**CONTEXT7, "visibility": "secret"}, "unknown visibility 'secret'"),
        ({**CONTEXT7, "is_enabled": "maybe"}, "`is_enabled` is neither true nor false"),
        ({**CONTEXT7, "tool_list": [{"description": "nameless"}]}, "tool 1 has no name"),
        ({**CONTEXT7, "tool_list": {}}, "`tools` is not a list"),
        ({**CONTEXT7, "metadata": "x"}, "`metadata` is not an object"),
        ({**CONTEXT7, "entity_type": "robot"}, "unknown kind 'robot'"),
        ({**CARD, "skills": [3]}, "skill 1 is not an object"),
        ({**CARD, "name": "!!!"}, "gives no path"),
        ({**BEIR, "metadata": []}, "`metadata` is not an object"),
        ({"front_matter": {"name": "x"}, "body": ""}, "no `description`"),
        ({"what": "ever"}, "not a record of a known form"),
        (3, "not a record of a known form"),
    ],
)
def test_a_bad_record_is_named(value: Any, reason: str) -> None:
    (refused,) = read(value)
    assert isinstance(refused, Refused)
    assert refused.record.startswith("here")
    assert reason in refused.reason


def test_what_no_catalogue_can_hold_is_made_to_fit() -> None:
    (server,) = read({"path": "/x", "server_name": "a\ud800b\0", "metadata": {"nan": float("nan"), "set": {1: "x"}}})
    assert server.name == "a?b"
    assert server.metadata == {"set": {"1": "x"}}
