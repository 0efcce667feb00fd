"""Entities as the documents of `mcp_embeddings_{dimension}`, and the commands of DocumentDB's vector search."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import AGENT, SERVER, SKILL, VIRTUAL, Entity, metadata_text, record, text_parts
from watersmeet.core.registry_records import EmbeddedEntity
from watersmeet.store.mongodb._gateway_shape import OWN

if TYPE_CHECKING:
    from watersmeet.core.vectors import Vector

VECTOR_INDEX, PATH_INDEX = "embedding_vector_idx", "path_idx"
"""Names of the indexes, as gateways call them."""


def collection_of(dimension: int) -> str:
    return f"mcp_embeddings_{dimension}"


def document_of(entry: EmbeddedEntity) -> dict[str, Any]:
    """The search document of an entity; an entity without a vector has an empty one, and words still find it."""
    entity, vector = entry.entity, entry.vector
    embedding = [] if vector is None else vector.tolist()
    return {
        "_id": entity.path,
        "entity_type": entity.kind,
        "path": entity.path,
        "name": entity.name,
        "description": entity.description,
        "tags": list(entity.tags),
        "is_enabled": entity.enabled,
        "status": entity.status,
        "visibility": "group-restricted" if entity.visibility == "group" else entity.visibility,
        "allowed_groups": list(entity.groups),
        "owner": entity.owner,
        "text_for_embedding": " ".join(text_parts(entity)),
        "metadata_text": metadata_text(entity),
        "embedding": embedding,
        "embedding_metadata": {"model": entry.model, "dimensions": len(embedding)},
        **_members(entity),
        "metadata": _metadata(entity),
        "indexed_at": datetime.now(UTC).replace(tzinfo=None).isoformat(),
        OWN: {"digest": entry.digest},
    }


def _members(entity: Entity) -> dict[str, Any]:
    if entity.kind == AGENT:
        return {"capabilities": list(entity.capabilities)}
    if entity.kind == SKILL:
        return {}
    schemas = entity.kind == SERVER  # a virtual server's tools are its backends'
    return {
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                **({"inputSchema": dict(tool.schema)} if schemas else {}),
            }
            for tool in entity.tools
        ]
    }


def _metadata(entity: Entity) -> dict[str, Any]:
    """What a gateway shows of an entity: its record, and of skills and virtual servers their metadata."""
    return dict(entity.metadata) if entity.kind in (SKILL, VIRTUAL) else record(entity)


def vector_index(collection: str, dimension: int, hnsw: Mapping[str, int]) -> dict[str, Any]:
    """DocumentDB's command for an HNSW index."""
    options = {"type": "hnsw", "dimensions": dimension, "similarity": "cosine", **hnsw}
    index = {"key": {"embedding": "vector"}, "name": VECTOR_INDEX, "vectorOptions": options}
    return {"createIndexes": collection, "indexes": [index]}


def vector_search(vector: Vector, kind: str, k: int, ef_search: int) -> list[dict[str, Any]]:
    """DocumentDB's pipeline for the entities of one kind; the cosine is computed from the vectors that it returns."""
    nearest = {"vector": vector.tolist(), "path": "embedding", "similarity": "cosine", "k": k, "efSearch": ef_search}
    return [
        {"$search": {"vectorSearch": nearest}},
        {"$match": {"entity_type": kind}},
        {"$project": {"embedding": 1}},
    ]
