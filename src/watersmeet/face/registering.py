"""Changing the registry through a server: nobody changes, or learns of, what they cannot see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import Entity, Refused, Viewer
from watersmeet.core.errors import ConfigError, NoIndex, NotFound

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.registry import Registered
    from watersmeet.engine.report import Tell


class Unreadable(ConfigError):
    """No record among what was sent can be registered."""


class Taken(ConfigError):
    """The path belongs to something that the caller may not see."""


def register(engine: Engine, records: list[Any], viewer: Viewer, tell: Tell | None = None) -> dict[str, Any]:
    for entity in _entities(engine, records)[0]:
        _free(engine, entity.path, viewer)
    return _told(engine, engine.registry.register(records, tell=tell), viewer)


def put(engine: Engine, path: str, record: Any, viewer: Viewer) -> dict[str, Any]:
    """One entity under this path, whatever its record calls it."""
    found, refused = _entities(engine, [record])
    if len(found) != 1 or refused:
        raise Unreadable(refused[0].reason if refused else "the body must be one record")
    path = _existing(engine, path, viewer) or (path if path.startswith("/") else f"/{path}")
    _free(engine, path, viewer)
    return _told(engine, engine.registry.put(replace(found[0], path=path)), viewer)


def get(engine: Engine, path: str, viewer: Viewer) -> dict[str, Any]:
    return engine.registry.get(_existing(engine, path, viewer) or path, viewer)


def change(engine: Engine, path: str, status: str | None, enabled: bool | None, viewer: Viewer) -> dict[str, Any]:
    registry = engine.registry
    path = _existing(engine, path, viewer) or path
    registry.get(path, viewer)
    if status is not None:
        registry.set_status(path, status)
    if enabled is not None:
        (registry.enable if enabled else registry.disable)(path)
    return registry.get(path, viewer)


def unregister(engine: Engine, path: str, viewer: Viewer) -> dict[str, Any]:
    path = _existing(engine, path, viewer) or path
    engine.registry.get(path, viewer)
    return {"removed": engine.registry.unregister(path)}


def _entities(engine: Engine, records: list[Any]) -> tuple[list[Entity], list[Refused]]:
    from watersmeet.engine.registry.reading import Listed, read

    items = list(read(records, engine.settings))
    refused = [item for item in items if isinstance(item, Refused)]
    if refused and len(refused) == len(items):
        raise Unreadable("; ".join(f"{item.record}: {item.reason}" for item in refused[:5]))
    return [item[1] for item in items if not isinstance(item, Refused | Listed)], refused


def _existing(engine: Engine, path: str, viewer: Viewer | None) -> str:
    """The path as it is registered; in an address the slash that it begins with is easily lost."""
    for name in (path, f"/{path}"):
        try:
            engine.registry.get(name, viewer)
        except (NotFound, NoIndex):
            continue
        return name
    return ""


def _free(engine: Engine, path: str, viewer: Viewer) -> None:
    if not viewer.all and not _existing(engine, path, viewer) and _existing(engine, path, None):
        raise Taken(f"{path} is taken", "choose another path")


def _told(engine: Engine, report: Registered, viewer: Viewer) -> dict[str, Any]:
    """The report without what it says of things that the caller may not see."""
    if not viewer.all:
        seen = [
            twin for twin in report.twins if not twin.same_as.startswith("/") or _existing(engine, twin.same_as, viewer)
        ]
        totals = engine.status(viewer)
        report.twins, report.documents, report.chunks = seen, totals["documents"], totals["chunks"]
    return report.to_json()
