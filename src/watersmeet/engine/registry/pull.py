"""Pulling: bringing the index up to date with the records of a shared database.

The versions of all records there are compared with those pulled last. That takes one light query, and finds changes and
deletions of every writer, whatever its clock says. What was pulled is only remembered to save work: without it all
records are read again, and found unchanged.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import KINDS, SOURCE, Refused
from watersmeet.core.errors import ConfigError, DatabaseProblem, IndexProblem, NoIndex
from watersmeet.core.model import Condition
from watersmeet.core.registry_records import RecordVersion, SharedRecords
from watersmeet.engine.index.state_names import RECORD_VERSIONS
from watersmeet.engine.registry import register
from watersmeet.engine.registry.database_state import note_pull
from watersmeet.engine.registry.publish import publish
from watersmeet.engine.registry.shared_records import entity_in, shared_records

if TYPE_CHECKING:
    from watersmeet.core.index import Index
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import ProgressCallback

LOCK_SECONDS = 5.0


@dataclass(slots=True)
class PullReport:
    """What a pull has changed in the index."""

    place: str
    records: int = 0  # in the database
    registered: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: list[Refused] = field(default_factory=list)
    only_here: list[str] = field(default_factory=list)  # registered in the index before, and not in the database
    embedded: int = 0
    published: int = 0
    took_ms: float = 0.0

    @property
    def changed(self) -> bool:
        return bool(self.registered or self.removed)

    def to_json(self) -> dict[str, Any]:
        return {
            "database": self.place,
            **{name: getattr(self, name) for name in ("records", "registered", "unchanged", "removed")},
            "skipped": [{"record": one.record, "reason": one.reason} for one in self.skipped],
            "only_here": self.only_here,
            **{name: getattr(self, name) for name in ("embedded", "published")},
            "took_ms": round(self.took_ms, 1),
        }


def pull(
    engine: Engine,
    *,
    whole: bool = False,
    deepen: bool = True,
    seconds: float = math.inf,
    progress: ProgressCallback = lambda _: None,
    publishing: bool = True,
) -> PullReport:
    """Bring the index up to date with the database. `whole`: compare with the index, not with what was pulled last.
    `publishing`: write vectors through, if the settings say so; after a change in any case.

    An outage is recorded, so that searches of every process can name it, and raised."""
    shared = _database(engine)
    start, now = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    report = PullReport(shared.place)
    try:
        known, here = _known(engine.index), _registered(engine) if whole else None  # first: what is gone was there then
        versions = shared.versions()
        if here is not None:
            report.only_here = sorted(here - versions.keys() - known.keys())
            known = {path: version for path, version in known.items() if path in here}
        before = _apply_changes(engine, shared, versions, known, report, progress)
    except DatabaseProblem as problem:
        note_pull(engine.index, str(problem), now)
        raise
    if report.changed:
        made = engine.deepen(progress, seconds, deepen, before if seconds < math.inf else 0)
        report.embedded = made.embedded
    if publishing or report.changed:
        report.published = publish(engine, shared, versions.keys())
    note_pull(engine.index, "", now)
    report.records, report.took_ms = len(versions), (time.perf_counter() - start) * 1000
    return report


def _database(engine: Engine) -> SharedRecords:
    shared = shared_records(engine.settings)
    if shared is None:
        raise ConfigError(
            "registered records are in the index alone", 'set registry.records = "mongodb": docs/how-to/mongodb.md'
        )
    return shared


def _apply_changes(
    engine: Engine,
    shared: SharedRecords,
    versions: Mapping[str, RecordVersion],
    known: Mapping[str, int],
    report: PullReport,
    progress: ProgressCallback,
) -> int:
    """Register what has changed against the `known` versions, and remove what is gone; returns the last row before."""
    changed = [path for path, found in versions.items() if known.get(path) != found.version]
    gone = [path for path in known if path not in versions]
    if not changed and not gone:
        return 0
    changed.sort(key=lambda path: (versions[path].registered, path))  # equal scores are in this order
    stored = dict(shared.several(changed))
    items: list[register.Followed] = []
    for path in changed:
        entity = entity_in(stored[path].record) if path in stored else None
        if isinstance(entity, Refused):
            report.skipped.append(entity)
        elif entity is not None:
            items.append(register.Followed(path, entity, stored[path].record.get(SOURCE, {}), shared.place))
    registered = register.Registered()
    before, report.removed = register.follow(engine.index, engine.settings, items, gone, registered, progress)
    report.registered, report.unchanged = registered.registered, registered.unchanged
    report.skipped += registered.skipped
    report.skipped += [Refused(twin.record, twin.reason) for twin in registered.twins]
    _remember(engine.index, {path: found.version for path, found in versions.items()})
    return before


def _registered(engine: Engine) -> set[str]:
    """Paths of all entities in the index."""
    with suppress(NoIndex), engine.snapshot() as snapshot:
        return {str(found.document) for found in snapshot.records(Condition(fields={"kind": KINDS}))}
    return set()


# ------------------------------------------------------------ what was pulled


def _known(index: Index) -> dict[str, int]:
    """Versions that were pulled last, by path."""
    with suppress(ValueError, IndexProblem, AttributeError):
        found = json.loads(index.state(RECORD_VERSIONS).read() or b"{}")
        return {str(path): version for path, version in found.items() if isinstance(version, int)}
    return {}


def _remember(index: Index, versions: Mapping[str, int]) -> None:
    with index.state(RECORD_VERSIONS).changing(LOCK_SECONDS) as state:
        state.write(json.dumps(versions, ensure_ascii=False, separators=(",", ":")).encode())
