"""State of the shared database, as the last pull found it: for answers, `status`, `doctor` and statistics."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import TOOL, entity_kinds, type_of
from watersmeet.core.errors import DatabaseProblem, IndexProblem, WatersmeetError
from watersmeet.core.index import Check, Index, Snapshot
from watersmeet.core.model import Failure
from watersmeet.engine.index.state_names import LAST_PULL
from watersmeet.engine.query.visibility import is_limited, visible_to
from watersmeet.engine.registry.database_vectors import shared_vectors
from watersmeet.engine.registry.publish import published_tier
from watersmeet.engine.registry.shared_records import shared_records
from watersmeet.engine.settings.settings import LOCAL_RECORDS, Settings

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine

BY = "database"
LOCK_SECONDS = 5.0
_PRIVATE = "the database of the registry does not answer as it should"


def last_pull(index: Index) -> dict[str, Any]:
    """The last pull: `at`, when one worked; `problem` and `since`, if the last one failed. Times are in UTC."""
    with suppress(ValueError, IndexProblem):
        found = json.loads(index.state(LAST_PULL).read() or b"{}")
        return found if isinstance(found, dict) else {}
    return {}


def note_pull(index: Index, problem: str, now: str) -> None:
    """Record how a pull ended; the beginning of an outage stays."""
    with suppress(IndexProblem), index.state(LAST_PULL).changing(LOCK_SECONDS) as state:
        before = last_pull(index)
        since = (before.get("since") if before.get("problem") else None) or now
        found = {"at": before.get("at"), "problem": problem, "since": since} if problem else {"at": now, "problem": ""}
        state.write(json.dumps(found).encode())


def database_failures(
    index: Index, snapshot: Snapshot, settings: Settings, viewer: Viewer | None
) -> tuple[Failure, ...]:
    """What an answer has to say of the database: that it has not answered, or refuses a search. Nothing is sent to it.

    A viewer who may not see everything is not told where it is."""
    if settings.section("registry").records == LOCAL_RECORDS:
        return ()
    found: list[str] = []
    pulled = last_pull(index)
    if pulled.get("problem"):
        state = f"records are of {pulled['at']}" if pulled.get("at") else "nothing was pulled yet"
        found.append(f"{pulled['problem']}, since {pulled.get('since')}; {state}")
    vectors = shared_vectors(snapshot, settings)
    if vectors is not None and vectors[1].fallback():
        found.append(vectors[1].fallback())
    return tuple(Failure(BY, _PRIVATE if is_limited(viewer) else reason) for reason in found)


def database_status(index: Index, settings: Settings) -> dict[str, Any]:
    """For `status`: where records are, when they were pulled, and what has gone wrong since. Nothing is sent."""
    shared, pulled = shared_records(settings), last_pull(index)
    if shared is None:
        return {}
    return {"database": {"place": shared.place, "pulled": pulled.get("at"), "problem": pulled.get("problem") or None}}


def database_check(settings: Settings) -> list[Check]:
    """For `doctor`: whether the database answers."""
    try:
        shared = shared_records(settings)
        return [Check(BY, True, f"{shared.place}: {len(shared.versions())} records")] if shared else []
    except WatersmeetError as problem:
        return [Check(BY, False, str(problem), problem.hint)]


def statistics(engine: Engine, viewer: Viewer | None = None) -> dict[str, Any]:
    """Counts of registered entities by kind, and of the collection of their vectors: of public ones only, for a viewer
    who may not see everything."""
    settings = engine.settings
    with engine.snapshot() as snapshot:
        kinds, tier = snapshot.kinds(visible_to(viewer)), published_tier(snapshot)
    entity_types = {type_of(kind): kinds[kind] for kind in entity_kinds(kinds) if kinds.get(kind)}
    found: dict[str, Any] = {
        "records": settings.section("registry").records,
        "entity_types": entity_types,
        "documents": sum(entity_types.values()),
        "tools": kinds.get(TOOL, 0),
        "embeddings": None,
    }
    shared, limited = shared_records(settings), is_limited(viewer)
    vectors = shared.published(tier.dimension) if shared and tier else None
    if vectors is not None:
        with suppress(DatabaseProblem):  # which the last pull has named
            found["embeddings"] = vectors.statistics(limited)
    return found if limited else found | database_status(engine.index, settings)
