from __future__ import annotations

from typing import Any

import pytest

from published import AGENT, BACKENDS, BEIR, CARD, CONTEXT7, OFFICIAL, SKILL, TOOL, VIRTUAL, read
from watersmeet.core.entities import Tool, embedding_text
from watersmeet.record.gateway import Gateway


@pytest.mark.parametrize("value", [CONTEXT7, AGENT, SKILL, VIRTUAL, BACKENDS])
def test_it_knows_its_own(value: Any) -> None:
    assert Gateway().knows(value)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, OFFICIAL, CARD, BEIR, TOOL])
def test_it_knows_no_other(value: Any) -> None:
    assert not Gateway().knows(value)


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
