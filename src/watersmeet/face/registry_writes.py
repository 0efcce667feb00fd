"""Changing the registry through a server: nobody changes, or learns of, what they cannot see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import Entity, Refused
from watersmeet.core.errors import ConfigError, NoIndex, NotFound
from watersmeet.core.visibility import Viewer
from watersmeet.engine.registry.record_files import Listed, read

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.registry import Registered
    from watersmeet.engine.sync.report import ProgressCallback


class Unreadable(ConfigError):
    """No record among what was sent can be registered."""


class NotYours(ConfigError):
    """Something in another's name."""


SECONDS = 2.0
"""How long a change waits for the deep model; what it has not seen by then comes later."""
LONGEST = 500


def register(
    engine: Engine, records: list[Any], viewer: Viewer, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    for item in _readable(engine, records):
        path = item.path if isinstance(item, Listed) else item[1].path
        _check(path)
        _free(engine, path, viewer)
        if not isinstance(item, Listed):
            _own(item[1], viewer)
    return _told(engine, engine.registry.register(records, progress=progress, seconds=SECONDS), viewer)


def put(
    engine: Engine, path: str, record: dict[str, Any], viewer: Viewer, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    """One entity under this path, whatever its record calls it."""
    path = _existing(engine, path, viewer) or (path if path.startswith("/") else f"/{path}")
    entity = _only(engine, record, path)
    _check(path)
    _free(engine, path, viewer)
    _own(entity, viewer)
    return _told(engine, engine.registry.put(replace(entity, path=path), progress=progress, seconds=SECONDS), viewer)


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
    return next((found for name in (path, f"/{path}") if (found := _seen(engine, name, viewer))), "")


def _seen(engine: Engine, path: str, viewer: Viewer | None) -> str:
    """The path as it is registered of something that the viewer may see, however it is written here."""
    try:
        found = engine.registry.spelled(path, viewer)
        return found if found and engine.registry.get(found, viewer) else ""
    except (NotFound, NoIndex):
        return ""


def _free(engine: Engine, path: str, viewer: Viewer) -> None:
    """What the caller cannot see cannot be replaced: it is answered as what is not there."""
    if not viewer.all and not _seen(engine, path, viewer) and _seen(engine, path, None):
        engine.registry.get(path, viewer)


def _own(entity: Entity, viewer: Viewer) -> None:
    if entity.owner and entity.owner != viewer.user and not viewer.all:
        who = f"you are {viewer.user!r}" if viewer.user else "your token is of no user"
        raise NotYours(f"{entity.path} names {entity.owner!r} as its owner, and {who}", "leave the owner out")


def _told(engine: Engine, report: Registered, viewer: Viewer) -> dict[str, Any]:
    """The report without what it says of things that the caller may not see."""
    if not viewer.all:
        seen = [twin for twin in report.twins if not twin.path or _seen(engine, twin.path, viewer)]
        totals = engine.status(viewer)
        report.twins, report.documents, report.chunks = seen, totals["documents"], totals["chunks"]
        report.embedded = 0  # whether a text was known already is nobody else's business
    return report.to_json()
