"""Records of types that the settings declare: `entity_type` names the type, which says what each field is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watersmeet.core.entities import BUILT_IN, Entity, Refused, Tool
from watersmeet.core.entity_types import STANDARD, EntityType, undeclared
from watersmeet.core.record_format import Origin
from watersmeet.record._values import (
    KIND_NAMES,
    Unusable,
    attempt,
    mapping,
    needed,
    others,
    plain,
    slug,
    standing,
    text,
    texts,
    texts_of,
)

_READ = frozenset("title text skills tools relevance_score similarity_score match_context matched label".split())
"""Keys that other formats and search answers have."""


@dataclass(frozen=True, slots=True)
class Custom:
    """A record whose `entity_type` is not built in; so it also refuses those of types that are not declared."""

    def knows(self, value: Any) -> bool:
        return isinstance(value, Mapping) and bool(named_type(value))

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        place = value.get("path") or value.get("_id")
        where = f"{origin.where} ({place})" if place else origin.where
        yield attempt(where, lambda: _entity(plain(value), origin))


def named_type(value: Mapping[str, Any]) -> str:
    """The type that a record names, if it is not built in; `kind` counts in records that have a path."""
    named = value.get("entity_type") or (value.get("kind") if isinstance(value.get("path"), str) else "")
    name = named.strip().casefold() if isinstance(named, str) else ""
    return "" if name in BUILT_IN or name in KIND_NAMES else name


def _entity(value: dict[str, Any], origin: Origin) -> Entity:
    name = named_type(value)
    found = origin.types.get(name)
    if found is None:
        raise Unusable(undeclared(name, origin.types))
    title = needed(value, found.title, "name", "title")
    metadata = mapping(value, "metadata")
    read = (*STANDARD, *found.fields, found.title, found.description)
    return Entity(
        kind=name,
        path=text(value, "path", "_id") or f"/{name}/{slug(title)}",
        name=title,
        description=text(value, found.description, "description", "text"),
        tags=texts(value, "tags"),
        metadata=_declared_values(found, {**metadata, **value}),
        examples=texts_of(value.get("examples")),
        body=text(value, "body"),
        extra={**mapping(value, "extra"), **others(metadata, read), **others(value, _READ.union(read))},
        fields=found.fields,
        **standing(value),
    )


def _declared_values(type: EntityType, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in type.fields if values.get(name) not in (None, "", [], {})}
