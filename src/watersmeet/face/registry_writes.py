"""Registry entities through a server: callers neither change nor learn of entities that are not visible to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import Entity, Refused
from watersmeet.core.errors import ConfigError, NoIndex, NotFound
from watersmeet.core.visibility import Viewer
from watersmeet.engine.registry.listing import EVERYTHING
from watersmeet.engine.registry.record_files import Listed, read
from watersmeet.engine.registry.registry import Reindexed
from watersmeet.present.backend_addresses import without_backends
from watersmeet.present.mcp_configuration import configuration as made_configuration

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.registry import Registered
    from watersmeet.engine.sync.report import ProgressCallback


class Unreadable(ConfigError):
    """None of the records sent can be registered."""


class NotYours(ConfigError):
    """A record that names another user as its owner."""


EMBED_SECONDS = 2.0
"""How long a change waits for the deep model; the remaining vectors are made later."""
MAX_PATH_LENGTH = 500
ADDRESS_WITHHELD = "an address of this server is shown only to tokens with the scope write"


def register(
    engine: Engine, records: list[Any], viewer: Viewer, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    for item in _readable(engine, records):
        path = item.path if isinstance(item, Listed) else item[1].path
        _check_path(path)
        _check_not_hidden(engine, path, viewer)
        if not isinstance(item, Listed):
            _check_owner(item[1], viewer)
    report = engine.registry.register(records, progress=progress, seconds=EMBED_SECONDS, viewer=viewer)
    return _visible_report(engine, report, viewer)


def put(
    engine: Engine, path: str, record: dict[str, Any], viewer: Viewer, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    """Register one entity under this path, whatever path its record names."""
    path = registered_path(engine, path, viewer) or (path if path.startswith("/") else f"/{path}")
    entity = _single_entity(engine, record, path)
    _check_path(path)
    _check_not_hidden(engine, path, viewer)
    _check_owner(entity, viewer)
    put = replace(entity, path=path)
    report = engine.registry.put(put, progress=progress, seconds=EMBED_SECONDS, viewer=viewer)
    return _visible_report(engine, report, viewer)


def _single_entity(engine: Engine, record: dict[str, Any], path: str) -> Entity:
    """The one entity of a record. A record without a path gets it from the URL."""
    with_path = {"path": path, **record}
    for candidate in (record, with_path):
        found = [item for item in read([candidate], engine.settings) if not isinstance(item, Refused)]
        if len(found) == 1 and not isinstance(found[0], Listed):
            return found[0][1]
    _readable(engine, [with_path])
    raise Unreadable("the body must be one record", "send the record of one entity")


def get(engine: Engine, path: str, viewer: Viewer) -> dict[str, Any]:
    return engine.registry.get(registered_path(engine, path, viewer) or path, viewer)


def configuration(engine: Engine, path: str, viewer: Viewer, addresses: bool) -> dict[str, Any]:
    """How to connect to a server. `addresses`: whether the caller may see those of backends."""
    record = get(engine, path, viewer)
    whole = made_configuration(record)
    if addresses:
        return whole.to_json()
    shown = made_configuration(without_backends(record))
    if len(shown.ways) < len(whole.ways):
        shown = replace(shown, notes=(ADDRESS_WITHHELD,))
    return shown.to_json()


def change(engine: Engine, path: str, status: str | None, enabled: bool | None, viewer: Viewer) -> dict[str, Any]:
    registry = engine.registry
    path = registered_path(engine, path, viewer) or path
    registry.get(path, viewer)
    if status is not None:
        registry.set_status(path, status)
    if enabled is not None:
        (registry.enable if enabled else registry.disable)(path)
    return registry.get(path, viewer)


def unregister(engine: Engine, path: str, viewer: Viewer) -> dict[str, Any]:
    path = registered_path(engine, path, viewer) or path
    engine.registry.get(path, viewer)
    return {"removed": engine.registry.unregister(path)}


def reindex(
    engine: Engine, paths: list[str], viewer: Viewer, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    """Reindex entities that are visible to the caller, by their paths; without paths all of them."""
    if paths:
        named = [registered_path(engine, path, viewer) or path for path in paths]
        for path in named:
            engine.registry.get(path, viewer)
    else:
        named = [record["path"] for record in engine.registry.listing("", "", viewer, **EVERYTHING)]
    report = (
        engine.registry.reindex(named, progress=progress, seconds=EMBED_SECONDS) if named else Reindexed(0, 0, 0, 0.0)
    )
    return report._asdict()


def _readable(engine: Engine, records: list[Any]) -> list[tuple[str, Entity] | Listed]:
    """The records that can be registered; an error with the reasons if there are none."""
    items = list(read(records, engine.settings))
    refused = [item for item in items if isinstance(item, Refused)]
    if refused and len(refused) == len(items):
        reasons = "; ".join(f"{item.record}: {item.reason}" for item in refused[:5])
        raise Unreadable(reasons, "docs/how-to/registry.md lists the supported record formats")
    return [item for item in items if not isinstance(item, Refused)]


def _check_path(path: str) -> None:
    if not path.strip("/") or "#" in path or len(path) > MAX_PATH_LENGTH:
        hint = f"use a path without #, of at most {MAX_PATH_LENGTH} characters"
        raise Unreadable(f"{path[:80]!r} cannot be the path of an entity", hint)


def registered_path(engine: Engine, path: str, viewer: Viewer | None) -> str:
    """The path as registered; in a URL its first slash is easily lost."""
    return next((found for name in (path, f"/{path}") if (found := _visible_path(engine, name, viewer))), "")


def _visible_path(engine: Engine, path: str, viewer: Viewer | None) -> str:
    """The path as registered, however it is written here; empty if it is not visible to the viewer."""
    try:
        found = engine.registry.spelled(path, viewer)
        return found if found and engine.registry.get(found, viewer) else ""
    except (NotFound, NoIndex):
        return ""


def _check_not_hidden(engine: Engine, path: str, viewer: Viewer) -> None:
    """An entity that is not visible to the caller cannot be replaced: the error is the same as if it did not exist."""
    if not viewer.all and not _visible_path(engine, path, viewer) and _visible_path(engine, path, None):
        engine.registry.get(path, viewer)


def _check_owner(entity: Entity, viewer: Viewer) -> None:
    if entity.owner and entity.owner != viewer.user and not viewer.all:
        who = f"you are {viewer.user!r}" if viewer.user else "your token has no user"
        raise NotYours(f"{entity.path} names {entity.owner!r} as its owner, but {who}", "leave the owner out")


def _visible_report(engine: Engine, report: Registered, viewer: Viewer) -> dict[str, Any]:
    """The report without entities that are not visible to the caller."""
    if not viewer.all:
        visible = [twin for twin in report.twins if not twin.path or _visible_path(engine, twin.path, viewer)]
        totals = engine.status(viewer)
        report.twins, report.documents, report.chunks = visible, totals["documents"], totals["chunks"]
        report.embedded = 0  # would reveal whether a text was embedded before
    return report.to_json()
