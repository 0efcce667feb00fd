"""A registry's answer: servers, tools, agents, skills and virtual servers, each in a group of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from watersmeet.core.boosts import asked, graded, matched
from watersmeet.core.entities import AGENT, SERVER, SKILL, TOOL, VIRTUAL, Entity, Tool
from watersmeet.core.model import Evidence
from watersmeet.present.snippet import WIDTH, cut, snippet

GROUPS = {SERVER: "servers", TOOL: "tools", AGENT: "agents", SKILL: "skills", VIRTUAL: "virtual_servers"}
DIGITS = 4
LEAST = 0.01
"""The worst of a few may be at 0 on the scale of the others, and is no less a result."""
LOOKED_AT = 2_000
"""So many characters of a description are looked through for a line to show."""


class Found(NamedTuple):
    """An entity, or one of its tools, with its score and why it has that."""

    entity: Entity
    score: float
    evidence: tuple[Evidence, ...]
    tool: Tool | None = None


def grouped(found: Sequence[Found], query: str, most_tools: int) -> dict[str, Any]:
    """The groups, the best first in each, and how many there are in each: what is not in a group is not counted."""
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in GROUPS.values()}
    words = asked(query)
    for item in found:
        kind = TOOL if item.tool else item.entity.kind
        shown = _SHOWN[kind](item, words, most_tools)
        groups[GROUPS[kind]].append({"entity_type": kind, **shown, **_scores(item, query, words)})
    return {**groups, **{f"total_{name}": len(items) for name, items in groups.items()}}


def similarity(evidence: Sequence[Evidence]) -> float | None:
    """The cosine by the best model that has seen it itself."""
    seen = {e.by: e.score for e in evidence if e.by in ("static", "dense") and not e.detail.get("estimated")}
    return seen.get("dense", seen.get("static"))


def _scores(item: Found, query: str, words: Sequence[str]) -> dict[str, Any]:
    text = item.tool.description if item.tool else item.entity.description
    cosine = similarity(item.evidence)
    return {
        "relevance_score": max(LEAST, round(item.score, DIGITS)),
        "similarity_score": None if cosine is None else round(cosine, DIGITS),
        "match_context": _context(text, query, words),
        "matched": [] if item.tool else matched(item.entity, words),
    }


def _context(text: str, query: str, words: Sequence[str]) -> str:
    """The line that says most of what was asked."""
    text = text.strip()
    if "\n" not in text:
        return cut(text, set(words), WIDTH)
    return " ".join(snippet(text[:LOOKED_AT], query)[:1])


def _entity(item: Found) -> dict[str, Any]:
    entity = item.entity
    return {
        "path": entity.path,
        "description": entity.description,
        "tags": list(entity.tags),
        "status": entity.status,
        "is_enabled": entity.enabled,
        "visibility": entity.visibility,
        "owner": entity.owner,
    }


def _server(item: Found, words: Sequence[str], most: int) -> dict[str, Any]:
    entity = item.entity
    tools = [
        {"tool_name": tool.name, "description": tool.description, "relevance_score": round(score, DIGITS)}
        for tool, score in graded(entity.tools, words, most)
    ]
    own = _entity(item)
    return {
        "path": own.pop("path"),
        "server_name": entity.name,
        **own,
        "num_tools": len(entity.tools),
        "matching_tools": tools,
        "metadata": dict(entity.metadata),
    }


def _virtual(item: Found, words: Sequence[str], most: int) -> dict[str, Any]:
    shown = _server(item, words, most)
    said = {**item.entity.extra, **item.entity.metadata}
    paths = said.get("backend_paths")
    shown["backend_paths"] = list(paths) if isinstance(paths, list | tuple) else []
    shown["tool_count"] = shown.pop("num_tools")
    return shown


def _tool(item: Found, words: Sequence[str], most: int) -> dict[str, Any]:
    assert item.tool is not None  # noqa: S101 - for the type checker: only tools come here
    return {
        "server_path": item.entity.path,
        "server_name": item.entity.name,
        "tool_name": item.tool.name,
        "description": item.tool.description,
        "inputSchema": dict(item.tool.schema),
    }


def _agent(item: Found, words: Sequence[str], most: int) -> dict[str, Any]:
    entity, own = item.entity, _entity(item)
    return {
        "path": own.pop("path"),
        "agent_name": entity.name,
        **own,
        "capabilities": list(entity.capabilities),
        "skills": [{"name": ability.name, "description": ability.description} for ability in entity.skills],
        "metadata": dict(entity.metadata),
    }


def _skill(item: Found, words: Sequence[str], most: int) -> dict[str, Any]:
    entity, own = item.entity, _entity(item)
    return {
        "path": own.pop("path"),
        "skill_name": entity.name,
        **own,
        "author": entity.metadata.get("author", ""),
        "version": entity.metadata.get("version", ""),
        "metadata": dict(entity.metadata),
    }


_SHOWN: Mapping[str, Callable[[Found, Sequence[str], int], dict[str, Any]]] = {
    SERVER: _server,
    TOOL: _tool,
    AGENT: _agent,
    SKILL: _skill,
    VIRTUAL: _virtual,
}
