"""Which entities and tools have no vector, or one that does not belong to what is registered; and making them anew."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import TOOL, entity_kinds, type_of
from watersmeet.core.errors import DatabaseProblem, NoIndex
from watersmeet.core.index import NEXT_TIERS, Snapshot
from watersmeet.core.model import Condition
from watersmeet.core.visibility import Viewer, audience_gates
from watersmeet.engine.query.visibility import is_limited
from watersmeet.engine.registry.publish import embedded_entities, head_chunk, published_tier, vectors_of
from watersmeet.engine.registry.shared_records import shared_records
from watersmeet.engine.settings.settings import Settings

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

DENSE_TIERS = ("static", "dense")


def embeddings(engine: Engine, viewer: Viewer | None = None) -> dict[str, Any]:
    """`missing`: entities and tools without a vector, with the tiers that lack it. `stale`: those with a vector of
    another model or text: of a model that is being replaced, or in the shared collection."""
    try:
        with engine.snapshot() as snapshot:
            return _embeddings(engine, snapshot, viewer)
    except NoIndex:
        return {"entities": 0, "tiers": {}, "missing": [], "stale": []}


def _embeddings(engine: Engine, snapshot: Snapshot, viewer: Viewer | None) -> dict[str, Any]:
    condition = Condition(fields={"kind": (*entity_kinds(snapshot.kinds()), TOOL)}, gates=audience_gates(viewer))
    kinds = {str(found.document): type_of(found.kind) for found in snapshot.records(condition)}
    tiers = {name: tier for name, tier in snapshot.tiers().items() if name in DENSE_TIERS}
    lacking: dict[str, list[str]] = {}
    for name, tier in tiers.items():
        having = vectors_of(snapshot, tier, [head_chunk(path) for path in kinds])
        for path in kinds:
            if head_chunk(path) not in having:
                lacking.setdefault(path, []).append(name)
    if not tiers:
        lacking = {path: list(_wanted(engine.settings)) for path in kinds}
    missing = [
        {"path": path, "entity_type": kinds[path], "tiers": names} for path, names in sorted(lacking.items()) if names
    ]
    stale = [{"path": path, "reason": reason} for path, reason in _stale(engine, snapshot, kinds, viewer).items()]
    return {
        "entities": len(kinds),
        "tiers": {name: {"model": tier.model, "dimension": tier.dimension} for name, tier in tiers.items()},
        "missing": missing,
        "stale": stale,
    }


def _wanted(settings: Settings) -> tuple[str, ...]:
    """The tiers that the settings ask for."""
    own = settings.section("index")
    return tuple(name for name in DENSE_TIERS if own.vectors and getattr(own, name))


def _stale(engine: Engine, snapshot: Snapshot, kinds: Mapping[str, str], viewer: Viewer | None) -> dict[str, str]:
    found: dict[str, str] = {}
    if snapshot.facts().get(NEXT_TIERS, "{}") not in ("", "{}"):
        found |= dict.fromkeys(kinds, "the model is being replaced: `watersmeet deepen` goes on with it")
    shared, tier = shared_records(engine.settings), published_tier(snapshot)
    if shared is None or tier is None or is_limited(viewer):
        return found
    with suppress(DatabaseProblem):  # which the last pull has named
        vectors = shared.published(tier.dimension)
        theirs = vectors.digests() if vectors else {}
        for one in embedded_entities(snapshot, tier) if vectors else ():
            if theirs.get(one.entity.path, "") != one.digest:
                found[one.entity.path] = f"its entry in {vectors.name if vectors else ''} is another one, or missing"
    return found
