"""A small registry with entities of every kind, and search helpers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.core.entities import Ability, Entity, Tool
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.settings.settings import load

GROUPS = ("servers", "tools", "agents", "skills", "virtual_servers")
PATHS = [("", "hybrid"), ("", "lexical"), ("registry", "hybrid"), ("registry", "lexical")]
SCHEMA = {"type": "object", "properties": {"libraryId": {"type": "string"}}}


def status(name: str, **how: Any) -> Entity:
    return Entity("skill", f"/flags/{name}", f"Feature flags {name}", "Feature flags for releases", **how)


ENTITIES = [
    Entity(
        "mcp_server",
        "/context7",
        "Context7 MCP Server",
        "Documentation of any library, up to date",
        tags=("docs", "code"),
        tools=(Tool("query-docs", "Query the docs of a library", SCHEMA), Tool("resolve", "Find an id", {})),
    ),
    Entity(
        "mcp_server",
        "/strava",
        "Strava",
        "Runs and rides of an athlete",
        tools=(Tool("getStats", "Figures of a season"), Tool("strava_segments", "Segments nearby")),
    ),
    Entity("mcp_server", "/wiki", "Wiki", "Pages about everything", tags=("docs",)),
    Entity("a2a_agent", "/agents/travel", "Travel agent", "Books flights", skills=(Ability("hotels", "Finds beds"),)),
    Entity("skill", "/skills/pdf", "pdf", "Fill in forms", metadata={"author": "marguerite", "version": "2"}),
    Entity(
        "virtual_server",
        "/virtual/dev-tools",
        "Dev Tools",
        "Aggregated development tools",
        tags=("development",),
        metadata={"backend_paths": ["/github", "/jira"]},
        tools=(Tool("github_search", "Search development issues"),),
    ),
    status("one"),
    status("two", status="beta"),
    status("old", status="deprecated"),
    status("new", status="draft"),
    status("off", enabled=False),
    Entity("skill", "/private/pdf", "pdf of ann", "Fill in forms", visibility="private", owner="ann", tags=("secret",)),
    Entity("skill", "/group/pdf", "pdf of ops", "Fill in forms", visibility="group", groups=("ops",)),
]


def opened(folder: Path, **environ: str) -> Engine:
    names = {"WATERSMEET__INDEX__DENSE": "hashed"} | {f"WATERSMEET__{key}": value for key, value in environ.items()}
    return Engine(folder / "index", load(start=str(folder), environ=names))


def ask(engine: Engine, query: str = "", recipe: str = "", mode: str = "hybrid", **how: Any) -> dict[str, Any]:
    answer = engine.registry.search(EntityRequest(query, recipe=recipe, mode=mode, **how)).to_json()
    assert answer["search_mode"] == ("hybrid" if mode == "hybrid" else "lexical-only"), answer["failures"]
    return answer


def paths(answer: dict[str, Any]) -> set[str]:
    return {item.get("path") or f"{item['server_path']}#{item['tool_name']}" for g in GROUPS for item in answer[g]}


def ranked(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted((item for g in GROUPS for item in answer[g]), key=lambda item: -item["relevance_score"])
