"""Container catalogues: `registry: {NAME: {...}}`, or the `server.yaml` of one entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from watersmeet.core.entities import SERVER, Entity, Refused, Tool
from watersmeet.core.record_format import Origin
from watersmeet.record._values import Unusable, attempt, mapping, needed, others, plain, slug, text, texts, tools

_KNOWN = frozenset(["name", "title", "description", "tags", "tools", "metadata", "meta", "about", "category"])
_COUNTS = frozenset(["pulls", "stars", "githubStars", "tags"])
"""Fields that are counts, or are read elsewhere."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A catalogue or one entry of it; the path of a server is `/NAME`."""

    def knows(self, value: Any) -> bool:
        if not isinstance(value, Mapping):
            return False
        return isinstance(value.get("registry"), Mapping) or _is_entry(value)

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        if _is_entry(value):
            yield attempt(origin.where, lambda: _entity(needed(value, "name"), plain(value)))
            return
        for name, entry in value["registry"].items():
            yield attempt(f"{origin.where} ({name})", partial(_entry, str(name), entry))


def _is_entry(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("about"), Mapping) and isinstance(value.get("name"), str) and "path" not in value


def _entry(name: str, value: Any) -> Entity:
    return _entity(name, plain(value))


def _entity(name: str, value: Any) -> Entity:
    if not isinstance(value, dict):
        raise Unusable("the entry is not an object")
    about = {**mapping(value, "about")}
    meta = {**mapping(value, "meta"), **mapping(value, "metadata")}
    category = text(meta, "category") or text(value, "category")
    extra = others(value, _KNOWN)
    source = value.get("source")
    location = text(source, "project") if isinstance(source, dict) else text(value, "source", "upstream")
    if location:
        extra["location"] = location
    metadata = others(meta, _COUNTS | {"category"})
    return Entity(
        kind=SERVER,
        path=f"/{slug(name)}",
        name=text(about, "title") or text(value, "title") or name,
        description=text(about, "description") or text(value, "description"),
        tags=texts(meta, "tags") or texts(value, "tags"),
        tools=tools(value.get("tools")),
        metadata={**({"category": category} if category else {}), **metadata},
        extra=extra,
    )
