"""The official MCP registry: a server.json, or the list that its API gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from watersmeet.core.entities import SERVER, Entity, Refused, Tool, status_of
from watersmeet.core.records import Origin
from watersmeet.record._values import Unusable, attempt, mapping, needed, others, plain, text, texts, tools

_OFFICIAL = "io.modelcontextprotocol.registry/official"
_PUBLISHER = "io.modelcontextprotocol.registry/publisher-provided"
_MARKS = ("packages", "remotes", "$schema", "repository", "version_detail")
_KNOWN = frozenset(["name", "title", "description", "$schema", "_meta", "status"])


@dataclass(frozen=True, slots=True)
class Official:
    """The path is `/NAME`. Of several versions the latest comes first; what was deleted is passed over."""

    def knows(self, value: Any) -> bool:
        if not isinstance(value, Mapping) or "path" in value:
            return False
        listed = value.get("servers")
        if isinstance(listed, list):
            return bool(listed) and all(self.knows(item) for item in listed[:10])
        server = value.get("server")
        if isinstance(server, Mapping):
            return "name" in server
        schema = value.get("$schema")
        if isinstance(schema, str):
            return "modelcontextprotocol" in schema and "name" in value
        return isinstance(value.get("name"), str) and "/" in value["name"] and any(mark in value for mark in _MARKS)

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        listed = value.get("servers")
        if not isinstance(listed, list):
            yield attempt(origin.where, lambda: _entity(plain(value)))
            return
        for number, item in sorted(enumerate(listed, 1), key=lambda pair: not _is_latest(pair[1])):
            yield attempt(f"{origin.where}, server {number}", partial(_entity, plain(item)))


def _is_latest(value: Any) -> bool:
    """Whether an entry is not said to be an older version."""
    meta = value.get("_meta") if isinstance(value, Mapping) else None
    official = meta.get(_OFFICIAL) if isinstance(meta, Mapping) else None
    return not (isinstance(official, Mapping) and official.get("isLatest", official.get("is_latest")) is False)


def _entity(value: Any) -> Entity:
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
    extra = others(server, _KNOWN)
    repository = mapping(server, "repository")
    location = text(repository, "url") or text(server, "websiteUrl")
    if location:
        extra["location"] = location
    updated = text(official, "updatedAt", "publishedAt", "updated_at", "published_at")
    if updated:
        extra["updated_at"] = updated
    given = server.get("tools", publisher.get("tools"))
    return Entity(
        kind=SERVER,
        path=f"/{name}",
        name=text(server, "title") or name,
        description=text(server, "description"),
        tags=texts(server, "tags", "keywords") or texts(publisher, "tags", "keywords"),
        tools=tools(given) if isinstance(given, list) else (),
        status=status_of(status or None),
        extra={key: item for key, item in extra.items() if key != "tools"},
    )
