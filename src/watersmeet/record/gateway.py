"""Records of a gateway registry: servers, agents, skills and virtual servers, each identified by its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watersmeet.core.entities import AGENT, SERVER, SKILL, TOOL, VIRTUAL, Entity, Refused, Tool
from watersmeet.core.record_format import Origin
from watersmeet.record._agents import abilities
from watersmeet.record._values import (
    Unusable,
    attempt,
    described,
    kind_of,
    mapping,
    needed,
    others,
    plain,
    standing,
    text,
    texts,
    texts_of,
    tools,
)

_KNOWN = frozenset(
    "kind entity_type path name server_name agent_name skill_name title description parsed_description tags tools"
    " tool_list status is_enabled enabled visibility allowed_groups groups owner registered_by metadata capabilities"
    " skills examples body skill_md_content extra tool_mappings author version registry_name created_by"
    " relevance_score similarity_score match_context matched matching_tools".split()
)
"""Keys that are read, and keys that only search answers have."""
_OURS = frozenset("kind path name description tags status enabled visibility metadata tools".split())
"""Keys of every record that this registry exports: its `extra` is then stored, and not searched."""
_VIRTUAL = ("required_scopes", "supported_transports")


@dataclass(frozen=True, slots=True)
class Gateway:
    """A record of a gateway registry, or one exported by this registry."""

    def knows(self, value: Any) -> bool:
        return isinstance(value, Mapping) and isinstance(value.get("path"), str) and "_id" not in value

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        yield attempt(f"{origin.where} ({value['path']})", lambda: _entity(plain(value), origin))


def _entity(value: dict[str, Any], origin: Origin) -> Entity:
    kind = kind_of(value.get("entity_type") or value.get("kind")) or kind_of(origin.kind) or _looks_like(value)
    if kind == TOOL:
        raise Unusable("a tool cannot be registered alone; register it with its server")
    name = needed(value, "server_name", "agent_name", "skill_name", "name", "title")
    common: dict[str, Any] = standing(value)
    server_tools = _mapped(value) if kind == VIRTUAL else tools(value.get("tools", value.get("tool_list")))
    metadata = _metadata(value, kind)
    if kind == VIRTUAL:
        common["status"] = "active"
        metadata = {**metadata, "server_name": name, "num_tools": len(server_tools), **_backends(value, metadata)}
    return Entity(
        kind=kind,
        path=needed(value, "path"),
        name=name,
        description=described(value),
        tags=texts(value, "tags"),
        tools=server_tools,
        metadata=metadata,
        capabilities=texts(value, "capabilities") if kind == AGENT else (),
        skills=abilities(value.get("skills")) if kind == AGENT else (),
        examples=texts_of(value.get("examples")),
        body=text(value, "body", "skill_md_content"),
        extra=_extra(value, kind),
        **common,
    )


def _looks_like(value: Mapping[str, Any]) -> str:
    if "tool_mappings" in value or "backend_paths" in value:
        return VIRTUAL
    marks = ("skill_name", "skill_md_url", "skill_md_content")
    if any(mark in value for mark in marks) or value["path"].startswith("/skills/"):
        return SKILL
    return AGENT if "agent_name" in value or ("server_name" not in value and _like_an_agent(value)) else SERVER


def _like_an_agent(value: Mapping[str, Any]) -> bool:
    if any(mark in value for mark in ("skills", "protocol_version", "protocolVersion")):
        return True
    if value.get("tools") or value.get("tool_list"):
        return False
    return value["path"].startswith("/agents/") or ("url" in value and "capabilities" in value)


def _metadata(value: Mapping[str, Any], kind: str) -> dict[str, Any]:
    found = mapping(value, "metadata")
    if kind == SKILL:
        own = {key: value.get(key) for key in ("author", "version", "registry_name") if value.get(key)}
        custom = found.pop("extra", None)
        beside = {} if _ours(value) else mapping(value, "extra")
        found = {**beside, **own, **found, **(custom if isinstance(custom, Mapping) else {})}
    elif kind == VIRTUAL and value.get("created_by"):
        found = {**found, "created_by": value["created_by"]}
    return {key: item for key, item in found.items() if item not in (None, "", [], {})}


def _ours(value: Mapping[str, Any]) -> bool:
    return value.keys() >= _OURS


def _backends(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Backends of a virtual server, and its scopes and transports."""
    mappings = value.get("tool_mappings")
    if isinstance(mappings, list):
        paths = [item.get("backend_server_path") for item in mappings if isinstance(item, Mapping)]
        backends = list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))
    else:
        merged = {**mapping(value, "extra"), **metadata, **value}
        backends = list(texts(merged, "backend_paths"))
    lists = {key: list(texts({**metadata, **value}, key)) for key in _VIRTUAL}
    return {"backend_paths": backends, "backend_count": len(backends), **lists}


def _mapped(value: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Tools of a virtual server, by alias, with its own descriptions of them."""
    mappings = value.get("tool_mappings")
    if mappings is None:
        return tools(value.get("tools"))
    if not isinstance(mappings, list) or not all(isinstance(item, Mapping) for item in mappings):
        raise Unusable("`tool_mappings` is not a list of objects")
    return tools(
        [
            {"name": text(item, "alias", "tool_name", "name"), "description": text(item, "description_override")}
            for item in mappings
        ]
    )


def _extra(value: Mapping[str, Any], kind: str) -> dict[str, Any]:
    own_extra = mapping(value, "extra") if kind != SKILL or _ours(value) else {}
    found = {**own_extra, **others(value, _KNOWN)}
    if kind == VIRTUAL and isinstance(value.get("tool_mappings"), list):
        found["tool_mappings"] = value["tool_mappings"]
    if kind == VIRTUAL:
        found = {key: item for key, item in found.items() if key not in ("backend_paths", *_VIRTUAL)}
    for key in ("version", "author"):
        if kind != SKILL and isinstance(value.get(key), str):
            found.setdefault(key, value[key])
    return found
