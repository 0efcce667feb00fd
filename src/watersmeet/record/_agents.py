"""Skills declared by an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watersmeet.core.entities import Ability
from watersmeet.record._values import Unusable, text, texts, texts_of


def abilities(value: Any) -> tuple[Ability, ...]:
    """Skills of an agent's card: objects, or names."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Unusable("`skills` is not a list")
    return tuple(_ability(item, number) for number, item in enumerate(value, 1))


def _ability(value: Any, number: int) -> Ability:
    if isinstance(value, str) and value.strip():
        return Ability(value.strip())
    if not isinstance(value, Mapping):
        raise Unusable(f"skill {number} is not an object")
    name = text(value, "name", "id")
    if not name:
        raise Unusable(f"skill {number} has no name")
    examples = texts_of(value.get("examples"))
    return Ability(name, text(value, "description"), text(value, "id"), texts(value, "tags"), examples)
