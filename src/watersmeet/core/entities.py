"""What a registry holds: servers with their tools, agents, skills, virtual servers; and who may see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.names import WORDS_ONLY
from watersmeet.core.visibility import NOBODY, PUBLIC, STATUSES, facet_of

SERVER, AGENT, SKILL, VIRTUAL = KINDS = ("mcp_server", "a2a_agent", "skill", "virtual_server")
TOOL = "tool"
VISIBILITIES = ("public", "private", "group")

FORM, LATEST = "form", "isLatest"
"""What an entity's `extra` says of the record that it was read from: its form, and whether it is the last version."""
OFFICIAL, TOOL_LIST = "official", "tools"
CONTENT = "@content"
"""The facet that says what an entity says, wherever it is registered."""
SOURCE = "@source"
"""The field for what the record of an entity says of it, where that was changed here."""

COPIED = 1_000
"""So many characters of what is said of a server are said again of each of its tools."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a server can do. `examples` are queries that it is the answer to."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ability:
    """What an agent says that it can do; its card calls it a skill."""

    name: str
    description: str = ""
    id: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """One entry of a registry. `path` names it; `extra` is what its record says besides, kept and not searched."""

    kind: str
    path: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    status: str = "active"
    enabled: bool = True
    visibility: str = "public"
    groups: tuple[str, ...] = ()
    owner: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    skills: tuple[Ability, ...] = ()
    examples: tuple[str, ...] = ()
    body: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.kind, (*KINDS, TOOL), "kind"),
            (self.status, STATUSES, "status"),
            (self.visibility, VISIBILITIES, "visibility"),
        ):
            if value not in known:
                raise ConfigError(f"unknown {what} {value!r}", nearest(value, known))
        if not self.path or not self.name:
            raise ConfigError("an entity needs a path and a name")


class Refused(NamedTuple):
    """A record that was passed over, and why."""

    record: str
    reason: str


def status_of(value: Any) -> str:
    """A lifecycle status as it is stored; none is active."""
    text = str(value).strip().casefold() if value is not None else ""
    if text and text not in STATUSES:
        raise ConfigError(f"unknown status {str(value)!r}", nearest(text, STATUSES))
    return text or "active"


# ---------------------------------------------------------------- who may see what


def audience(entity: Entity) -> tuple[str, ...]:
    """Who may see an entity, as facet values; never empty, for without the facet everyone may."""
    if entity.visibility == "public":
        return (PUBLIC,)
    owner = (facet_of("user", entity.owner),) if entity.owner else ()
    return (*owner, *(facet_of("group", group) for group in entity.groups)) or (NOBODY,)


# ---------------------------------------------------------------- the text of an entity


def flatten(metadata: Mapping[str, Any]) -> str:
    """Each key, and the values: of a list each item, of a mapping each value."""
    parts: list[str] = []
    for key, value in metadata.items():
        items = value if isinstance(value, list | tuple) else value.values() if isinstance(value, Mapping) else [value]
        parts += [str(key), *(str(item) for item in items if item is not None)]
    return " ".join(parts)


_SKILL_OWN = ("author", "version")
_UNEMBEDDED = WORDS_ONLY[SKILL]


def metadata_text(entity: Entity, embedded: bool = False) -> str:
    """The metadata as words; `embedded`: without what is matched as words only."""
    if entity.kind == VIRTUAL:
        return "" if embedded else str(entity.metadata.get(WORDS_ONLY[VIRTUAL]) or "")
    if entity.kind != SKILL:
        return flatten(entity.metadata)
    own = [str(entity.metadata[key]) for key in _SKILL_OWN if entity.metadata.get(key)]
    rest = {k: v for k, v in entity.metadata.items() if k not in (*_SKILL_OWN, _UNEMBEDDED)}
    name = "" if embedded else str(entity.metadata.get(_UNEMBEDDED) or "")
    return " ".join(part for part in (*own, flatten(rest), name) if part)


def text_parts(entity: Entity) -> list[str]:
    """What is embedded of an entity, piece by piece: its name first. Never its path, schemas or ids."""
    parts = [entity.name, entity.description]
    if entity.tags:
        parts.append("Tags: " + ", ".join(entity.tags))
    if entity.kind == AGENT and entity.capabilities:
        parts.append("Capabilities: " + ", ".join(entity.capabilities))
    parts.append(metadata_text(entity, embedded=True))
    members = entity.skills if entity.kind == AGENT else () if entity.kind == SKILL else entity.tools
    for member in members:
        parts += [member.name, member.description]
    return [part for part in parts if part.strip()]


def embedding_text(entity: Entity) -> str:
    """What a model reads of an entity: its name in the first line, and the rest."""
    return "\n".join(text_parts(entity))


def not_embedded(entity: Entity) -> str:
    """What is said of an entity that only words can find."""
    if entity.kind == VIRTUAL:
        return metadata_text(entity)
    return str(entity.metadata.get(_UNEMBEDDED) or "") if entity.kind == SKILL else ""


def beginning(text: str, most: int = COPIED) -> str:
    """A text, or if it is long the words that it begins with."""
    return text if len(text) <= most else "".join(text[:most].rsplit(None, 1)[:1])


def tool_text(tool: Tool, entity: Entity) -> list[str]:
    """What is indexed of a tool by itself, piece by piece, after its name."""
    schema = tool.schema.get("properties")
    parameters = schema if isinstance(schema, Mapping) else {}
    said = []
    for name, about in parameters.items():
        description = about.get("description") if isinstance(about, Mapping) else None
        said.append(f"{name}: {description}" if isinstance(description, str) and description else str(name))
    whose = beginning(entity.description)
    parts = [
        tool.description,
        "Parameters: " + "; ".join(said) if said else "",
        f"{entity.name}: {whose}" if whose else entity.name,
    ]
    return [part for part in parts if part.strip()]


# ---------------------------------------------------------------- as JSON and back


def record(entity: Entity) -> dict[str, Any]:
    """An entity as JSON; what few of them have is left out where there is none."""
    tools = [
        {"name": t.name, "description": t.description, "inputSchema": dict(t.schema), "examples": list(t.examples)}
        for t in entity.tools
    ]
    skills = [
        {"id": s.id, "name": s.name, "description": s.description, "tags": list(s.tags), "examples": list(s.examples)}
        for s in entity.skills
    ]
    rare = {
        "groups": list(entity.groups),
        "owner": entity.owner,
        "capabilities": list(entity.capabilities),
        "skills": skills,
        "examples": list(entity.examples),
        "body": entity.body,
        "extra": dict(entity.extra),
    }
    return {
        "kind": entity.kind,
        "path": entity.path,
        "name": entity.name,
        "description": entity.description,
        "tags": list(entity.tags),
        "status": entity.status,
        "enabled": entity.enabled,
        "visibility": entity.visibility,
        "metadata": dict(entity.metadata),
        "tools": tools,
        **{key: value for key, value in rare.items() if value},
    }


def entity_of(found: Mapping[str, Any]) -> Entity:
    """The way back."""
    return Entity(
        kind=found["kind"],
        path=found["path"],
        name=found["name"],
        description=found.get("description", ""),
        tags=tuple(found.get("tags", ())),
        tools=tuple(
            Tool(t["name"], t.get("description", ""), t.get("inputSchema") or {}, tuple(t.get("examples", ())))
            for t in found.get("tools", ())
        ),
        status=found.get("status", "active"),
        enabled=found.get("enabled", True),
        visibility=found.get("visibility", "public"),
        groups=tuple(found.get("groups", ())),
        owner=found.get("owner", ""),
        metadata=found.get("metadata") or {},
        capabilities=tuple(found.get("capabilities", ())),
        skills=tuple(
            Ability(
                s["name"],
                s.get("description", ""),
                s.get("id", ""),
                tuple(s.get("tags", ())),
                tuple(s.get("examples", ())),
            )
            for s in found.get("skills", ())
        ),
        examples=tuple(found.get("examples", ())),
        body=found.get("body", ""),
        extra=found.get("extra") or {},
    )
