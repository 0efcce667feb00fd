"""Agent cards of the A2A protocol, as agents publish them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watersmeet.core.entities import AGENT, Entity, Refused, Tool
from watersmeet.core.record_format import Origin
from watersmeet.record._agents import abilities
from watersmeet.record._values import attempt, mapping, needed, others, plain, slug, standing, text, texts

_MARKS = ("protocolVersion", "protocol_version", "defaultInputModes", "default_input_modes", "capabilities", "url")
_KNOWN = frozenset(
    "name description tags capabilities metadata skills status is_enabled enabled visibility groups allowed_groups"
    " owner registered_by".split()
)


@dataclass(frozen=True, slots=True)
class Card:
    """An agent card. It has no path, so its path is `/agents/NAME`."""

    def knows(self, value: Any) -> bool:
        return (
            isinstance(value, Mapping)
            and "name" in value
            and "path" not in value
            and isinstance(value.get("skills"), list)
            and any(mark in value for mark in _MARKS)
        )

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        yield attempt(origin.where, lambda: _entity(plain(value)))


def _entity(value: dict[str, Any]) -> Entity:
    name = needed(value, "name")
    extra = others(value, _KNOWN)
    if text(value, "url"):
        extra["location"] = text(value, "url")
    return Entity(
        kind=AGENT,
        path=f"/agents/{slug(name)}",
        name=name,
        description=text(value, "description"),
        tags=texts(value, "tags"),
        metadata=mapping(value, "metadata"),
        capabilities=texts(value, "capabilities"),
        skills=abilities(value.get("skills")),
        extra=extra,
        **standing(value),
    )
