"""The official MCP registry: a server.json, or the list that its API gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from watersmeet.core.entities import FORM, LATEST, OFFICIAL, SERVER, Entity, Refused, Tool, status_of
from watersmeet.core.record_format import Origin
from watersmeet.record._values import Unusable, attempt, mapping, needed, others, plain, text, texts, tools

_OFFICIAL = "io.modelcontextprotocol.registry/official"
_PUBLISHER = "io.modelcontextprotocol.registry/publisher-provided"
_MARKS = ("packages", "remotes", "$schema", "repository", "version_detail")
_KNOWN = frozenset(["name", "title", "description", "$schema", "_meta", "status"])
_REQUIRED = ("description", "version")
MAX_VERSION_LENGTH = 255
"""Limit of the official registry."""
_OTHERS = ("path", "_id", "skills", "about", "inputSchema", "servers")
"""Keys of records in other formats."""


@dataclass(frozen=True, slots=True)
class Official:
    """A server.json or a list of them; the path is `/NAME`. The latest version counts; deleted servers are refused."""

    def knows(self, value: Any) -> bool:
        if not isinstance(value, Mapping) or "path" in value:
            return False
        listed = value.get("servers")
        if isinstance(listed, list):  # one bad entry does not change the format of the list
            others = any(isinstance(item, Mapping) and "path" in item for item in listed)
            return not others and any(_is_server(item) for item in listed)
        return _is_server(value)

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        listed = value.get("servers")
        if not isinstance(listed, list):
            yield attempt(origin.where, lambda: _entity(value))
            return
        for number, item in enumerate(listed, 1):
            yield attempt(f"{origin.where}, server {number}", partial(_entity, item))


def _is_server(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    server = value.get("server")
    if isinstance(server, Mapping):
        return "name" in server
    schema = value.get("$schema")
    if isinstance(schema, str):
        return "modelcontextprotocol" in schema and "name" in value
    if not isinstance(value.get("name"), str) or "/" not in value["name"] or any(key in value for key in _OTHERS):
        return False
    return any(mark in value for mark in _MARKS) or all(isinstance(value.get(key), str) for key in _REQUIRED)


def _entity(record: Any) -> Entity:
    value = plain(record)
    if not isinstance(value, dict):
        raise Unusable("not an object")
    server = mapping(value, "server") or value
    meta = {**mapping(server, "_meta"), **mapping(value, "_meta")}
    official = mapping(meta, _OFFICIAL)
    publisher = mapping(meta, _PUBLISHER)
    name = needed(server, "name")
    status = text(official, "status") or text(server, "status")
    if status.casefold() == "deleted":
        raise Unusable(f"{name} was deleted from its registry")
    version = server.get("version")
    if isinstance(version, str) and len(version) > MAX_VERSION_LENGTH:
        raise Unusable(f"{name[:80]}: a version of {len(version)} characters, {MAX_VERSION_LENGTH} at most")
    extra = {**others(server, _KNOWN), FORM: OFFICIAL}
    latest = official.get("isLatest", official.get("is_latest"))
    if isinstance(latest, bool):
        extra[LATEST] = latest
    repository = mapping(server, "repository")
    location = text(repository, "url") or text(server, "websiteUrl")
    if location:
        extra["location"] = location
    updated = text(official, "updatedAt", "publishedAt", "updated_at", "published_at")
    if updated:
        extra["updated_at"] = updated
    listed_tools = server.get("tools", publisher.get("tools"))
    return Entity(
        kind=SERVER,
        path=f"/{name}",
        name=text(server, "title") or name,
        description=text(server, "description"),
        tags=texts(server, "tags", "keywords") or texts(publisher, "tags", "keywords"),
        tools=tools(listed_tools) if isinstance(listed_tools, list) else (),
        status=status_of(status or None),
        extra={key: item for key, item in extra.items() if key != "tools"},
    )
