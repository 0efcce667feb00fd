"""Write-through: the entities of the index with their vectors, in the collection that gateways search."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from watersmeet.core.entities import KINDS, Entity, entity_of, record
from watersmeet.core.errors import NoIndex
from watersmeet.core.ids import chunk_id
from watersmeet.core.index import Snapshot, Tier
from watersmeet.core.model import ANY, ChunkId, Condition, DocId
from watersmeet.core.registry_records import EmbeddedEntity, SharedRecords
from watersmeet.core.text_fields import digest

if TYPE_CHECKING:
    from watersmeet.core.vectors import Vector
    from watersmeet.engine.engine import Engine


def publish(engine: Engine, shared: SharedRecords, registered: Collection[str] | None = None) -> int:
    """Write the entries that have changed and delete those of entities that nobody has `registered` any more; returns
    their number. Nothing is done if the settings do not ask for it, or if there are no vectors yet."""
    try:
        with engine.snapshot() as snapshot:
            tier = published_tier(snapshot)
            vectors = shared.published(tier.dimension) if tier else None
            if tier is None or vectors is None:
                return 0
            entries = list(embedded_entities(snapshot, tier))
    except NoIndex:
        return 0
    theirs = vectors.digests()
    changed = [one for one in entries if theirs.get(one.entity.path) != one.digest]
    paths = {one.entity.path for one in entries}.union(shared.versions() if registered is None else registered)
    gone = [path for path, found in theirs.items() if found and path not in paths]
    if changed:
        vectors.put(changed)
    if gone:
        vectors.delete(gone)
    return len(changed) + len(gone)


def published_tier(snapshot: Snapshot) -> Tier | None:
    """The tier whose vectors are published: the best one that the index has."""
    tiers = snapshot.tiers()
    return tiers.get("dense") or tiers.get("static")


def head_chunk(path: str) -> ChunkId:
    """The chunk of an entity's own text."""
    return chunk_id(DocId(path), (), 0)


def embedded_entities(snapshot: Snapshot, tier: Tier) -> Iterator[EmbeddedEntity]:
    """All entities with their vectors, those of private ones too: a gateway applies its own rules."""
    found = snapshot.records(Condition(fields={"kind": KINDS}))
    entities = [entity_of(one.fields["record"]) for one in found if "record" in one.fields]
    vectors = vectors_of(snapshot, tier, [head_chunk(entity.path) for entity in entities])
    for entity in entities:
        vector = vectors.get(head_chunk(entity.path))
        yield EmbeddedEntity(entity, vector, tier.model, _digest(entity, tier, vector is not None))


def vectors_of(snapshot: Snapshot, tier: Tier, ids: list[ChunkId]) -> dict[ChunkId, Vector]:
    """Vectors of those chunks that have one."""
    import numpy as np

    stored = snapshot.vectors(tier, ANY)
    (scored,) = stored.score([np.full(tier.dimension, tier.dimension**-0.5, np.float32)], ids)
    having = [chunk for chunk in ids if chunk in scored]
    return dict(zip(having, stored.read(having), strict=True)) if having else {}


def _digest(entity: Entity, tier: Tier, embedded: bool) -> str:
    content = json.dumps(record(entity), sort_keys=True, default=str)
    return digest(content, tier.fingerprint, str(embedded)).hex()
