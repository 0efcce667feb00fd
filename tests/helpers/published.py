"""A record of each form that servers, tools, agents and skills are published in, and how they are read."""

from __future__ import annotations

from typing import Any

from watersmeet.core.entities import Refused
from watersmeet.core.record_format import Origin
from watersmeet.engine.registry.record_files import Listed, recognized

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
    return list(recognized([("here", value)], Origin("here", **{"name": "file", **origin})))
