"""SKILL.md files: front matter that says when to use the skill, and a body that says how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watersmeet.core.entities import SKILL, Entity, Refused, Tool
from watersmeet.core.record_format import Origin
from watersmeet.record._values import (
    Unusable,
    attempt,
    mapping,
    others,
    plain,
    slug,
    standing,
    text,
    texts,
    texts_of,
)

_KNOWN = frozenset(
    "name description tags metadata author version examples status enabled is_enabled visibility groups allowed_groups"
    " owner registered_by".split()
)


@dataclass(frozen=True, slots=True)
class Skill:
    """A parsed SKILL.md: `front_matter` and `body`. The path is `/skills/FOLDER`, with parent folders if two would
    have the same path."""

    def knows(self, value: Any) -> bool:
        return isinstance(value, Mapping) and isinstance(value.get("front_matter"), Mapping) and "body" in value

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        yield attempt(origin.where, lambda: _entity(plain(value), origin))


def _entity(value: dict[str, Any], origin: Origin) -> Entity:
    matter = value["front_matter"]
    name = text(matter, "name") or origin.name.rpartition("/")[2]
    description = text(matter, "description")
    if not description:
        raise Unusable("no `description` in its front matter")
    custom = mapping(matter, "metadata")
    own = {key: text(matter, key) for key in ("author", "version") if text(matter, key)}
    metadata = {key: item for key, item in {**own, **custom}.items() if key not in ("tags", "examples")}
    extra = others(matter, _KNOWN)
    if origin.location:
        extra["location"] = origin.location
    return Entity(
        kind=SKILL,
        path="/skills/" + "/".join(slug(part) for part in (origin.name or name).split("/")),
        name=name,
        description=description,
        tags=texts(matter, "tags") or texts(custom, "tags"),
        metadata=metadata,
        examples=texts_of(matter.get("examples", custom.get("examples"))),
        body=value["body"] or "",
        extra=extra,
        **standing(matter),
    )
