"""Entities of a registry: servers with their tools, agents, skills, virtual servers, declared types; and who may see
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.names import CUSTOM, WORDS_ONLY
from watersmeet.core.visibility import NOBODY, PUBLIC, STATUSES, facet_of

SERVER, AGENT, SKILL, VIRTUAL = KINDS = ("mcp_server", "a2a_agent", "skill", "virtual_server")
TOOL = "tool"
BUILT_IN = (*KINDS, TOOL)
SEMANTIC, KEYWORD, SHOWN = ROLES = ("semantic", "keyword", "shown")
"""What a field of a declared type is for: embedded and searched, searched by its words only, or only shown."""
_TYPE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
VISIBILITIES = ("public", "private", "group")

FORM, LATEST = "form", "isLatest"
"""Keys of an entity's `extra`: the format of its source record, and whether that is the latest version."""
OFFICIAL, TOOL_LIST = "official", "tools"
CONTENT = "@content"
"""Facet with the content hash of an entity, the same wherever it is registered."""
SOURCE = "@source"
"""Field with the original values of a source record, where they were changed in this registry."""
ORIGIN = "@origin"
"""Field with where a record came from: a file or database, by which program, user and token, and when."""

MAX_SERVER_TEXT = 1_000
"""Characters of a server's description that are copied into the text of each of its tools."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a server. `examples` are queries that it answers. `visibility` and `groups` narrow who may see it."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    visibility: str = "public"
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.visibility not in VISIBILITIES:
            raise ConfigError(f"unknown visibility {self.visibility!r}", nearest(self.visibility, VISIBILITIES))


@dataclass(frozen=True, slots=True)
class Ability:
    """A skill that an agent declares in its card."""

    name: str
    description: str = ""
    id: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """One entry of a registry, identified by `path`. `extra` has further fields of its record: stored, not searched."""

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
    fields: Mapping[str, str] = field(default_factory=dict)  # of a declared type: the role of each field in `metadata`

    def __post_init__(self) -> None:
        for value, allowed, what in (
            (self.kind, (self.kind,) if is_type_name(self.kind) else BUILT_IN, "kind"),
            (self.status, STATUSES, "status"),
            (self.visibility, VISIBILITIES, "visibility"),
        ):
            if value not in allowed:
                raise ConfigError(f"unknown {what} {value!r}", nearest(value, allowed))
        if not self.path or not self.name:
            raise ConfigError("an entity needs a path and a name")


class Refused(NamedTuple):
    """A record that was not read, and the reason."""

    record: str
    reason: str


def status_of(value: Any) -> str:
    """Lifecycle status in its stored spelling; no status means active."""
    text = str(value).strip().casefold() if value is not None else ""
    if text and text not in STATUSES:
        raise ConfigError(f"unknown status {str(value)!r}", nearest(text, STATUSES))
    return text or "active"


# ---------------------------------------------------------------- types, and the kinds of their documents


def is_type_name(name: str) -> bool:
    """Whether settings may declare a type of this name."""
    return _TYPE_NAME.fullmatch(name) is not None and name not in BUILT_IN


def stored_kind(type: str) -> str:
    """The kind of a type's documents."""
    return type if type in BUILT_IN else CUSTOM + type


def type_of(stored: str) -> str:
    """The type of documents of this kind: the inverse of `stored_kind`."""
    return stored.removeprefix(CUSTOM)


def is_entity(stored: str) -> bool:
    """Whether documents of this kind are entities or tools, and no files."""
    return stored in BUILT_IN or stored.startswith(CUSTOM)


def entity_kinds(stored: Iterable[str]) -> tuple[str, ...]:
    """The kinds of entities, without tools, in a catalogue with these kinds: the built-in ones, then others by name."""
    return (*KINDS, *sorted(kind for kind in stored if kind.startswith(CUSTOM)))


# ---------------------------------------------------------------- who may see what


def audience(entity: Entity) -> tuple[str, ...]:
    """Audience of an entity as facet values; never empty, since without the facet everyone may see it."""
    if entity.visibility == "public":
        return (PUBLIC,)
    owner = (facet_of("user", entity.owner),) if entity.owner else ()
    return (*owner, *(facet_of("group", group) for group in entity.groups)) or (NOBODY,)


def tool_audience(tool: Tool, entity: Entity) -> tuple[str, ...]:
    """Audience of a tool: those of its server's who may see the tool too. The owner may see all."""
    if tool.visibility == "public":
        return audience(entity)
    groups = tool.groups if entity.visibility == "public" else tuple(g for g in tool.groups if g in entity.groups)
    visibility = "group" if tool.visibility == "group" else "private"
    return audience(replace(entity, visibility=visibility, groups=groups if visibility == "group" else ()))


def without_limited_tools(entity: Entity) -> Entity:
    """A server without the tools that not all who see the server may see."""
    tools = tuple(tool for tool in entity.tools if tool.visibility == "public")
    return entity if len(tools) == len(entity.tools) else replace(entity, tools=tools)


# ---------------------------------------------------------------- the text of an entity


def flatten(metadata: Mapping[str, Any]) -> str:
    """Metadata as text: each key and its values, with the items of lists and the values of mappings."""
    parts: list[str] = []
    for key, value in metadata.items():
        items = value if isinstance(value, list | tuple) else value.values() if isinstance(value, Mapping) else [value]
        parts += [str(key), *(str(item) for item in items if item is not None)]
    return " ".join(parts)


_SKILL_OWN = ("author", "version")
_UNEMBEDDED = WORDS_ONLY[SKILL]


def metadata_text(entity: Entity, embedded: bool = False) -> str:
    """Metadata as text; `embedded`: without the fields that only keyword search uses."""
    if entity.kind == VIRTUAL:
        return "" if embedded else str(entity.metadata.get(WORDS_ONLY[VIRTUAL]) or "")
    if entity.kind not in KINDS:
        return _of_roles(entity, (SEMANTIC,) if embedded else (SEMANTIC, KEYWORD))
    if entity.kind != SKILL:
        return flatten(entity.metadata)
    own = [str(entity.metadata[key]) for key in _SKILL_OWN if entity.metadata.get(key)]
    rest = {k: v for k, v in entity.metadata.items() if k not in (*_SKILL_OWN, _UNEMBEDDED)}
    name = "" if embedded else str(entity.metadata.get(_UNEMBEDDED) or "")
    return " ".join(part for part in (*own, flatten(rest), name) if part)


def _of_roles(entity: Entity, roles: tuple[str, ...]) -> str:
    """The fields of an entity that have one of these roles, as text."""
    return flatten({key: value for key, value in entity.metadata.items() if entity.fields.get(key) in roles})


def text_parts(entity: Entity) -> list[str]:
    """Text of an entity that is embedded, in pieces, its name first. Never its path, schemas or ids."""
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
    """Embedded text of an entity: its name in the first line, then the rest."""
    return "\n".join(text_parts(entity))


def not_embedded(entity: Entity) -> str:
    """Text of an entity that only keyword search uses."""
    if entity.kind == VIRTUAL:
        return metadata_text(entity)
    if entity.kind not in KINDS:
        return _of_roles(entity, (KEYWORD,))
    return str(entity.metadata.get(_UNEMBEDDED) or "") if entity.kind == SKILL else ""


def beginning(text: str, most: int = MAX_SERVER_TEXT) -> str:
    """Text cut to at most `most` characters, at a word boundary."""
    return text if len(text) <= most else "".join(text[:most].rsplit(None, 1)[:1])


def tool_text(tool: Tool, entity: Entity) -> list[str]:
    """Indexed text of a tool, in pieces, without its name."""
    schema = tool.schema.get("properties")
    parameters = schema if isinstance(schema, Mapping) else {}
    described = []
    for name, parameter in parameters.items():
        description = parameter.get("description") if isinstance(parameter, Mapping) else None
        described.append(f"{name}: {description}" if isinstance(description, str) and description else str(name))
    server_description = beginning(entity.description)
    parts = [
        tool.description,
        "Parameters: " + "; ".join(described) if described else "",
        f"{entity.name}: {server_description}" if server_description else entity.name,
    ]
    return [part for part in parts if part.strip()]


# ---------------------------------------------------------------- as JSON and back


def record(entity: Entity) -> dict[str, Any]:
    """An entity as JSON; optional fields are left out if empty."""
    tools = [
        {
            "name": t.name,
            "description": t.description,
            "inputSchema": dict(t.schema),
            "examples": list(t.examples),
            **({} if t.visibility == "public" else {"visibility": t.visibility, "groups": list(t.groups)}),
        }
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
        "fields": dict(entity.fields),
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


def tool_of(fields: Mapping[str, Any]) -> Tool:
    """A tool from JSON: of the record of its server, or from its own."""
    return Tool(
        fields["name"],
        fields.get("description", ""),
        fields.get("inputSchema") or {},
        tuple(fields.get("examples", ())),
        fields.get("visibility", "public"),
        tuple(fields.get("groups", ())),
    )


def entity_of(fields: Mapping[str, Any]) -> Entity:
    """An entity from JSON: the inverse of `record`."""
    return Entity(
        kind=fields["kind"],
        path=fields["path"],
        name=fields["name"],
        description=fields.get("description", ""),
        tags=tuple(fields.get("tags", ())),
        tools=tuple(map(tool_of, fields.get("tools", ()))),
        status=fields.get("status", "active"),
        enabled=fields.get("enabled", True),
        visibility=fields.get("visibility", "public"),
        groups=tuple(fields.get("groups", ())),
        owner=fields.get("owner", ""),
        metadata=fields.get("metadata") or {},
        capabilities=tuple(fields.get("capabilities", ())),
        skills=tuple(
            Ability(
                s["name"],
                s.get("description", ""),
                s.get("id", ""),
                tuple(s.get("tags", ())),
                tuple(s.get("examples", ())),
            )
            for s in fields.get("skills", ())
        ),
        examples=tuple(fields.get("examples", ())),
        body=fields.get("body", ""),
        extra=fields.get("extra") or {},
        fields=fields.get("fields") or {},
    )
