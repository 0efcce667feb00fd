"""Entity types that settings declare: `[registry.types.NAME]`.

A declaration says which fields of a record are searched and how. A registered entity keeps that, so that it stays what
it is when the declaration changes or goes away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from watersmeet.core.entities import BUILT_IN, ROLES, is_type_name
from watersmeet.core.errors import ConfigError, nearest

MAX_TYPES, MAX_FIELDS, MAX_NAME_CHARS, MAX_LABEL_CHARS = 50, 50, 100, 60
STANDARD = frozenset(
    "path _id entity_type kind name description tags status enabled is_enabled visibility groups allowed_groups owner"
    " registered_by examples body metadata extra fields".split()
)
"""Keys that mean the same in records of all types: no fields of a declared one."""
_KEYS = ("label", "title", "description", "fields")


@dataclass(frozen=True, slots=True)
class EntityType:
    """A declared type. `title` and `description` are the fields with the name and the description of an entity."""

    name: str
    label: str = ""
    title: str = "name"
    description: str = "description"
    fields: Mapping[str, str] = field(default_factory=dict)


def declared(tables: Mapping[str, Any], where: str = "registry.types") -> dict[str, EntityType]:
    """The types of a settings table by name; `ConfigError` if a declaration is wrong or too large."""
    if len(tables) > MAX_TYPES:
        raise ConfigError(f"{where} declares {len(tables)} types", f"at most {MAX_TYPES} are allowed")
    return {name: _declared(name, table, f"{where}.{name}") for name, table in tables.items()}


def _declared(name: str, table: Any, where: str) -> EntityType:
    if not is_type_name(name):
        hint = "it is built in" if name in BUILT_IN else "use lower-case letters, digits, - and _, at most 40"
        raise ConfigError(f"{where}: {name!r} cannot be the name of a type", hint)
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} is a table, not a value", f"write [{where}] and settings below it")
    for key in table:
        if key not in _KEYS:
            raise ConfigError(f"[{where}] has no setting {key!r}", nearest(key, _KEYS))
    texts = {key: _text(table[key], f"{where}.{key}") for key in _KEYS[:-1] if key in table}
    return EntityType(name, **texts, fields=_fields(table.get("fields", {}), f"{where}.fields"))


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_LABEL_CHARS or not value.isprintable():
        raise ConfigError(f"{where} must be a text of at most {MAX_LABEL_CHARS} characters")
    return value.strip()


def _fields(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a table", f'for example summary = "{ROLES[0]}"')
    if len(value) > MAX_FIELDS:
        raise ConfigError(f"{where} names {len(value)} fields", f"at most {MAX_FIELDS} are allowed")
    for name, role in value.items():
        if name in STANDARD:
            raise ConfigError(f"{where}: {name!r} means the same for all types", "leave it out")
        if not name or name[0] in "@$" or len(name) > MAX_NAME_CHARS or not name.isprintable():
            raise ConfigError(f"{where}: {name[:MAX_NAME_CHARS]!r} cannot be the name of a field")
        if role not in ROLES:
            raise ConfigError(f"{where}.{name} is {role!r}", f"use one of: {', '.join(ROLES)}")
    return dict(value)


def undeclared(name: str, known: Iterable[str]) -> str:
    """Why a record of a type that is not declared is refused, and what to do."""
    if not is_type_name(name):
        return f"unknown kind {name[:MAX_NAME_CHARS]!r}; {nearest(name, (*BUILT_IN, *known))}"
    likely = f" ({nearest(name, (*BUILT_IN, *known))})"
    return f"unknown kind {name!r}{likely}; types of your own are declared in watersmeet.toml: [registry.types.{name}]"
