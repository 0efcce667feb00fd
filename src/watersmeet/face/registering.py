"""Changing the registry through a server: nobody changes, or learns of, what they cannot see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import Entity, Refused
from watersmeet.core.errors import ConfigError, NoIndex, NotFound
from watersmeet.core.viewers import Viewer
from watersmeet.engine.registry.reading import Listed, read

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.registry import Registered
    from watersmeet.engine.report import Tell


class Unreadable(ConfigError):
    """No record among what was sent can be registered."""


class Taken(ConfigError):
    """The path belongs to something that the caller may not see."""


SECONDS = 2.0
"""How long a change waits for the deep model; what it has not seen by then comes later."""
LONGEST = 500


def register(engine: Engine, records: list[Any], viewer: Viewer, tell: Tell | None = None) -> dict[str, Any]:
    for item in _readable(engine, records):
        path = item.path if isinstance(item, Listed) else item[1].path
        _check(path)
        _free(engine, path, viewer)
    return _told(engine, engine.registry.register(records, tell=tell, seconds=SECONDS), viewer)


def put(engine: Engine, path: str, record: dict[str, Any], viewer: Viewer, tell: Tell | None = None) -> dict[str, Any]:
    """One entity under this path, whatever its record calls it."""
    path = _existing(engine, path, viewer) or (path if path.startswith("/") else f"/{path}")
    entity = _only(engine, record, path)
    _check(path)
    _free(engine, path, viewer)
    return _told(engine, engine.registry.put(replace(entity, path=path), tell=tell, seconds=SECONDS), viewer)


def _only(engine: Engine, record: dict[str, Any], path: str) -> Entity:
    """The one entity that the record is of; a form of record that needs a path may leave it to the address."""
    whole = {"path": path, **record}
    for told in (record, whole):
        found = [item for item in read([told], engine.settings) if not isinstance(item, Refused)]
        if len(found) == 1 and not isinstance(found[0], Listed):
            return found[0][1]
    _readable(engine, [whole])
    raise Unreadable("the body must be one record", "send the record of one entity")


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


def _readable(engine: Engine, records: list[Any]) -> list[tuple[str, Entity] | Listed]:
    """What can be registered of these records; if that is nothing, why."""
    items = list(read(records, engine.settings))
    refused = [item for item in items if isinstance(item, Refused)]
    if refused and len(refused) == len(items):
        reasons = "; ".join(f"{item.record}: {item.reason}" for item in refused[:5])
        raise Unreadable(reasons, "the how-to on registries says which forms of records are known")
    return [item for item in items if not isinstance(item, Refused)]


def _check(path: str) -> None:
    if not path.strip("/") or "#" in path or len(path) > LONGEST:
        raise Unreadable(f"{path[:80]!r} cannot be the path of an entity", f"no #, and at most {LONGEST} characters")


def _existing(engine: Engine, path: str, viewer: Viewer | None) -> str:
    """The path as it is registered; in an address the slash that it begins with is easily lost."""
    return next((name for name in (path, f"/{path}") if _sees(engine, name, viewer)), "")


def _sees(engine: Engine, path: str, viewer: Viewer | None) -> bool:
    """Whether there is something of exactly this path that the viewer may see."""
    try:
        engine.registry.get(path, viewer)
    except (NotFound, NoIndex):
        return False
    return True


def _free(engine: Engine, path: str, viewer: Viewer) -> None:
    if not viewer.all and not _sees(engine, path, viewer) and _sees(engine, path, None):
        raise Taken(f"{path} cannot be written by you", "choose another path, or ask for a token that may")


def _told(engine: Engine, report: Registered, viewer: Viewer) -> dict[str, Any]:
    """The report without what it says of things that the caller may not see."""
    if not viewer.all:
        seen = [twin for twin in report.twins if not twin.path or _sees(engine, twin.path, viewer)]
        totals = engine.status(viewer)
        report.twins, report.documents, report.chunks = seen, totals["documents"], totals["chunks"]
        report.embedded = 0  # whether a text was known already is nobody else's business
    return report.to_json()
