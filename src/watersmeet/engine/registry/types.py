"""Entity types of a registry: the built-in ones, those that the settings declare, and those that the index has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from watersmeet.core.entities import BUILT_IN, Refused, entity_kinds, is_type_name, type_of
from watersmeet.core.entity_types import EntityType, declared, undeclared
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.engine.registry.shared_records import NOT_SHARED
from watersmeet.engine.settings.settings import LOCAL_RECORDS, Settings

if TYPE_CHECKING:
    from watersmeet.engine.registry.record_files import Item


def declared_types(settings: Settings) -> dict[str, EntityType]:
    """The types that the settings declare, by name."""
    return declared(settings.section("registry").types)


def known_types(settings: Settings, stored: Iterable[str]) -> tuple[str, ...]:
    """All types: also those that are declared no longer and have entities. `stored`: the kinds that the asker may see
    in the index."""
    custom = {*declared_types(settings), *map(type_of, entity_kinds(stored))}.difference(BUILT_IN)
    return (*BUILT_IN, *sorted(custom))


def check_types(names: Iterable[str], known: tuple[str, ...]) -> None:
    """Raise for a name that is no type."""
    for name in names:
        if name not in known:
            raise ConfigError(f"no entity type called {name!r}", nearest(name, known))


def labels(settings: Settings) -> dict[str, str]:
    """Headings of the declared types that have one."""
    return {name: one.label for name, one in declared_types(settings).items() if one.label}


def admitted(item: Item, settings: Settings, types: Mapping[str, EntityType]) -> Item:
    """What is to be registered: refused if its type is not declared, or if it cannot be in the shared database."""
    if not isinstance(item, tuple) or isinstance(item, Refused) or not is_type_name(item[1].kind):
        return item
    where, entity = item
    if settings.section("registry").records != LOCAL_RECORDS:
        return Refused(where, f'{NOT_SHARED}; set registry.records = "{LOCAL_RECORDS}" for an index of its own')
    if entity.kind not in types:
        return Refused(where, undeclared(entity.kind, types))
    return where, entity if entity.fields else replace(entity, fields=types[entity.kind].fields)
