"""Registry answers: entities grouped by kind, and tools for a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, NamedTuple

from watersmeet.core.boosts import grade_tools, matched_places, query_words
from watersmeet.core.entities import AGENT, SERVER, SKILL, TOOL, VIRTUAL, Entity, Tool
from watersmeet.core.model import Evidence, Failure, similarity
from watersmeet.core.options import option
from watersmeet.present.snippet import WIDTH, cut, snippet

GROUPS = {SERVER: "servers", TOOL: "tools", AGENT: "agents", SKILL: "skills", VIRTUAL: "virtual_servers"}
CUSTOM = "custom"
"""The group of entities of declared types."""
ANSWER_GROUPS = (*GROUPS.values(), CUSTOM)
DIGITS = 4
MIN_SHOWN_SCORE = 0.01
"""Lowest score shown: the last of a few results may be scaled to 0, and still be relevant."""
ENDPOINT_MEANING = "where the server is called; null: its record names no address that the caller may see"
REVIEW_MEANING = "why its description should be read by a person first: it has changed, or looks like instructions"
MAX_DESCRIPTION_CHARS = 2_000
"""Characters of a description that are searched for a line to show."""


_MISSING = object()
NO_LABELS: Mapping[str, str] = {}


class Found(NamedTuple):
    """An entity, or one of its tools, with its score and evidence."""

    entity: Entity
    score: float
    evidence: tuple[Evidence, ...]
    tool: Tool | None = None
    endpoint_url: str | None = None
    review: tuple[str, ...] = ()


# ---------------------------------------------------------------- what is answered


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEntity:
    entity_type: str
    description: str
    relevance_score: float = option(0.0, "from 0 to 1")
    similarity_score: float | None = option(None, "cosine by the best model that has a vector of it")
    match_context: str = option("", "the line that shares most with the query")
    matched: tuple[str, ...] = option((), "the words of the query that it mentions")
    review: tuple[str, ...] = option((), REVIEW_MEANING)


@dataclass(frozen=True, slots=True)
class MatchingTool:
    tool_name: str
    description: str
    relevance_score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Registered(RankedEntity):
    path: str
    tags: tuple[str, ...]
    status: str
    is_enabled: bool
    visibility: str
    owner: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedServer(_Registered):
    server_name: str
    endpoint_url: str | None = option(None, ENDPOINT_MEANING)
    num_tools: int
    matching_tools: tuple[MatchingTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedVirtual(_Registered):
    server_name: str
    matching_tools: tuple[MatchingTool, ...]
    backend_paths: tuple[str, ...]
    tool_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTool(RankedEntity):
    server_path: str
    server_name: str
    tool_name: str
    inputSchema: Mapping[str, Any]
    endpoint_url: str | None = option(None, ENDPOINT_MEANING)


@dataclass(frozen=True, slots=True)
class AgentSkill:
    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedAgent(_Registered):
    agent_name: str
    capabilities: tuple[str, ...]
    skills: tuple[AgentSkill, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSkill(_Registered):
    skill_name: str
    author: Any
    version: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCustom(_Registered):
    """An entity of a declared type; `metadata` has the fields of its declaration."""

    name: str
    label: str = option("", "the heading of its type")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    mode: str = option("", "the mode that was used")
    recipe: str = ""
    confidence: float | None = option(
        None, "how likely one of the first three results answers the query", least=0, most=1
    )
    confidence_words: str = option("", "the confidence in words: sure, likely or nothing fits")
    no_good_match: bool = option(False, "no result fits: those listed are only the nearest")
    failures: tuple[Failure, ...] = ()
    silent: Mapping[str, str] = option({}, "signals of the recipe that were not used, and why")
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityAnswer(_Answer):
    """The best entities of all kinds, each kind in a group, the best first in each."""

    query: str
    search_mode: str = option("hybrid", "hybrid or lexical-only: what really ran")
    servers: tuple[RankedServer, ...] = ()
    tools: tuple[RankedTool, ...] = ()
    agents: tuple[RankedAgent, ...] = ()
    skills: tuple[RankedSkill, ...] = ()
    virtual_servers: tuple[RankedVirtual, ...] = ()
    custom: tuple[RankedCustom, ...] = option((), "entities of the types that the settings declare")
    notes: tuple[str, ...] = option((), "what the asker should know")

    @property
    def entities(self) -> list[RankedEntity]:
        """All entities, best first."""
        every = (item for name in ANSWER_GROUPS for item in getattr(self, name))
        return sorted(every, key=lambda item: -item.relevance_score)

    def to_json(self) -> dict[str, Any]:
        json_fields = _to_json(self)
        return {**json_fields, **{f"total_{name}": len(json_fields[name]) for name in ANSWER_GROUPS}}


@dataclass(frozen=True, slots=True)
class OfferedTool:
    tool_name: str
    server_path: str
    server_name: str
    description: str
    inputSchema: Mapping[str, Any]
    endpoint_url: str | None = option(None, ENDPOINT_MEANING)
    score: float = 0.0
    why: str = ""
    review: tuple[str, ...] = option((), REVIEW_MEANING)


@dataclass(frozen=True, slots=True)
class OfferedServer:
    server_path: str
    server_name: str
    description: str
    endpoint_url: str | None = option(None, ENDPOINT_MEANING)
    score: float = 0.0
    why: str = ""
    review: tuple[str, ...] = option((), REVIEW_MEANING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer(_Answer):
    """The tools to call for a task, the best first."""

    task: str
    tools: tuple[OfferedTool, ...] = field(default=())
    servers: tuple[OfferedServer, ...] = option(
        (), "servers that fit and list no tools; their scores compare with those of the tools"
    )

    def to_json(self) -> dict[str, Any]:
        return _to_json(self)


def _to_json(answer: _Answer) -> dict[str, Any]:
    json_fields: dict[str, Any] = json_value(answer)
    json_fields["took_ms"] = round(answer.took_ms, 3)
    if not json_fields.get("notes"):
        json_fields.pop("notes", None)
    return json_fields


def json_value(value: Any) -> Any:
    """JSON value: dataclasses and mappings become objects, sequences become lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(item) for item in value]
    return value


def projected(metadata: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """Only these fields of the metadata; dots lead to inner ones, unless a key has them itself. No fields: all."""
    if not fields:
        return dict(metadata)
    found: dict[str, Any] = {}
    for path in fields:
        if path in metadata:
            found[path] = metadata[path]
            continue
        value: Any = metadata
        *outer, last = path.split(".")
        for key in (*outer, last):
            value = value[key] if isinstance(value, Mapping) and key in value else _MISSING
        if value is not _MISSING:
            target = found
            for key in outer:
                target = target.setdefault(key, {})
            target[last] = value
    return found


# ---------------------------------------------------------------- from results to answers


def grouped(
    found: Sequence[Found],
    query: str,
    most_tools: int,
    metadata_fields: Sequence[str] = (),
    labels: Mapping[str, str] = NO_LABELS,
) -> dict[str, tuple[Any, ...]]:
    """Groups of an answer, best first in each, with these fields of the metadata; without any, all. `labels`: headings
    of declared types."""
    groups: dict[str, list[RankedEntity]] = {name: [] for name in ANSWER_GROUPS}
    words = query_words(query)
    for item in found:
        kind = TOOL if item.tool else item.entity.kind
        scores = _scores(item, kind, query, words)
        shown = _SHOWN.get(kind)
        made = shown(item, words, most_tools, scores) if shown else _custom(item, scores, labels)
        if metadata_fields and isinstance(made, _Registered):
            made = replace(made, metadata=projected(made.metadata, metadata_fields))
        groups[GROUPS.get(kind, CUSTOM)].append(made)
    return {name: tuple(items) for name, items in groups.items()}


def _scores(item: Found, kind: str, query: str, words: Sequence[str]) -> dict[str, Any]:
    text = item.tool.description if item.tool else item.entity.description
    cosine = similarity(item.evidence)
    return {
        "entity_type": kind,
        "description": text,
        "relevance_score": max(MIN_SHOWN_SCORE, round(item.score, DIGITS)),
        "similarity_score": None if cosine is None else round(cosine, DIGITS),
        "match_context": _context(text, query, words),
        "matched": () if item.tool else tuple(matched_places(item.entity, words)),
        "review": item.review,
    }


def _context(text: str, query: str, words: Sequence[str]) -> str:
    """The line that shares most with the query."""
    text = text.strip()
    if "\n" not in text:
        return cut(text, set(words), WIDTH)
    return " ".join(snippet(text[:MAX_DESCRIPTION_CHARS], query, lines=1))


def _registered(entity: Entity) -> dict[str, Any]:
    return {
        "path": entity.path,
        "tags": entity.tags,
        "status": entity.status,
        "is_enabled": entity.enabled,
        "visibility": entity.visibility,
        "owner": entity.owner,
        "metadata": dict(entity.metadata),
    }


def _matching(entity: Entity, words: Sequence[str], most: int) -> tuple[MatchingTool, ...]:
    graded_tools = grade_tools(entity.tools, words, most)
    return tuple(MatchingTool(tool.name, tool.description, round(score, DIGITS)) for tool, score in graded_tools)


def _server(item: Found, words: Sequence[str], most: int, scores: Mapping[str, Any]) -> RankedServer:
    entity = item.entity
    tools = _matching(entity, words, most)
    return RankedServer(
        **scores,
        **_registered(entity),
        server_name=entity.name,
        num_tools=len(entity.tools),
        matching_tools=tools,
        endpoint_url=item.endpoint_url,
    )


def _virtual(item: Found, words: Sequence[str], most: int, scores: Mapping[str, Any]) -> RankedVirtual:
    entity = item.entity
    paths = {**entity.extra, **entity.metadata}.get("backend_paths")
    return RankedVirtual(
        **scores,
        **_registered(entity),
        server_name=entity.name,
        matching_tools=_matching(entity, words, most),
        backend_paths=tuple(paths) if isinstance(paths, list | tuple) else (),
        tool_count=len(entity.tools),
    )


def _tool(item: Found, words: Sequence[str], most: int, scores: Mapping[str, Any]) -> RankedTool:
    assert item.tool is not None  # noqa: S101 - for the type checker: only tools come here
    return RankedTool(
        **scores,
        server_path=item.entity.path,
        server_name=item.entity.name,
        tool_name=item.tool.name,
        inputSchema=dict(item.tool.schema),
        endpoint_url=item.endpoint_url,
    )


def _agent(item: Found, words: Sequence[str], most: int, scores: Mapping[str, Any]) -> RankedAgent:
    entity = item.entity
    skills = tuple(AgentSkill(ability.name, ability.description) for ability in entity.skills)
    return RankedAgent(
        **scores,
        **_registered(entity),
        agent_name=entity.name,
        capabilities=entity.capabilities,
        skills=skills,
    )


def _skill(item: Found, words: Sequence[str], most: int, scores: Mapping[str, Any]) -> RankedSkill:
    metadata = item.entity.metadata
    return RankedSkill(
        **scores,
        **_registered(item.entity),
        skill_name=item.entity.name,
        author=metadata.get("author", ""),
        version=metadata.get("version", ""),
    )


def _custom(item: Found, scores: Mapping[str, Any], labels: Mapping[str, str]) -> RankedCustom:
    entity = item.entity
    return RankedCustom(**scores, **_registered(entity), name=entity.name, label=labels.get(entity.kind) or entity.kind)


_SHOWN: Mapping[str, Callable[[Found, Sequence[str], int, Mapping[str, Any]], RankedEntity]] = {
    SERVER: _server,
    TOOL: _tool,
    AGENT: _agent,
    SKILL: _skill,
    VIRTUAL: _virtual,
}
