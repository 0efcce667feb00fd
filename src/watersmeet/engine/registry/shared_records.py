"""Registered records in a shared database: opening it, and changing its records together with those of the index."""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from watersmeet.core.entities import KINDS, ORIGIN, Entity, Refused, entity_of, record
from watersmeet.core.errors import ConfigError, DatabaseProblem
from watersmeet.core.record_format import Format, Origin
from watersmeet.core.registry_records import ChangedRecord, Records, SharedRecords, Stored
from watersmeet.engine.components import build
from watersmeet.engine.models import with_secrets
from watersmeet.engine.settings.settings import LOCAL_RECORDS, Settings

ENTITY_TYPE = "entity_type"
"""Key of a record that another program wrote: it is in that program's form."""
NOT_SHARED = "entities of declared types cannot be in MongoDB: gateway registries have no collection for them"
_opened: dict[str, SharedRecords] = {}
_lock = Lock()


def shared_records(settings: Settings) -> SharedRecords | None:
    """The database of the settings, one connection for a process; None if records are in the index alone."""
    name = settings.section("registry").records
    if name == LOCAL_RECORDS:
        return None
    table = with_secrets(settings, "records", name)
    key = json.dumps([name, table], sort_keys=True, default=str)
    with _lock:
        if key not in _opened:
            _opened[key] = build("records", name, table)
        return _opened[key]


@atexit.register
def close_shared() -> None:
    """Close all connections."""
    with _lock:
        for one in _opened.values():
            one.close()
        _opened.clear()


def entity_in(found: Mapping[str, Any]) -> Entity | Refused:
    """The entity of a stored record, in our form or in that of a gateway."""
    if ENTITY_TYPE not in found:
        try:
            entity = entity_of(found)
            return entity if entity.kind in KINDS else Refused(entity.path, NOT_SHARED)
        except (ConfigError, KeyError, TypeError, AttributeError) as problem:
            return Refused(str(found.get("path")), f"not a record of this registry: {problem}")
    gateway: Format = build("record", "gateway", {})
    for item in gateway.read(found, Origin(str(found["path"]), kind=str(found[ENTITY_TYPE]))):
        if isinstance(item, Entity | Refused):
            return item
    return Refused(str(found["path"]), "not a record of an entity")


class ThroughRecords:
    """Records of a shared database with a copy in the index: a change is made there first, and then here.

    If the process ends in between, the next pull makes the change here.
    """

    def __init__(self, shared: SharedRecords, local: Records) -> None:
        self._shared, self._local = shared, local

    def get(self, path: str) -> Stored | None:
        found = self._shared.get(path)
        here = self._local.get(path) if found is not None else None
        if found is not None and here is not None and ORIGIN in here.record:
            found = found._replace(record={**found.record, ORIGIN: here.record[ORIGIN]})
        if found is None or ENTITY_TYPE not in found.record:
            return found
        entity = entity_in(found.record)
        if isinstance(entity, Refused):
            raise DatabaseProblem(f"{path} in {self._shared.place} cannot be read: {entity.reason}", "correct it there")
        origin = {key: value for key, value in found.record.items() if key == ORIGIN}
        return found._replace(record={**record(entity), **origin})

    def put(self, record: Mapping[str, Any], version: int | None) -> int:
        number = self._shared.put({key: value for key, value in record.items() if key != ORIGIN}, version)
        here = self._local.get(record["path"])
        if here is None or here.record != record:
            self._local.put(record, here.version if here else None)
        return number

    def delete(self, path: str, version: int) -> None:
        self._shared.delete(path, version)
        here = self._local.get(path)
        if here is not None:
            self._local.delete(path, here.version)

    def changed_since(self, cursor: str, limit: int = 1000) -> tuple[list[ChangedRecord], str]:
        return self._shared.changed_since(cursor, limit)

    def __iter__(self) -> Iterator[Stored]:
        return iter(self._shared)
