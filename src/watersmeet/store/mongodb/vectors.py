"""Vectors of entities in `mcp_embeddings_{dimension}`: written for gateways, and searched.

MongoDB's Community Edition has no vector search: the vectors are read once, changed ones again, and compared here.
Amazon DocumentDB compares them itself; if it refuses, they are compared here as well.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import DatabaseDown, DatabaseProblem
from watersmeet.core.registry_records import EmbeddedEntity
from watersmeet.store.mongodb._connection import Connection, Doc
from watersmeet.store.mongodb._embedding_shape import (
    PATH_INDEX,
    VECTOR_INDEX,
    collection_of,
    document_of,
    vector_index,
    vector_search,
)
from watersmeet.store.mongodb._gateway_shape import OWN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from watersmeet.core.vectors import Vector

IN_INDEX, COSINE, DOCUMENTDB = VECTOR_SEARCHES = ("index", "cosine", "documentdb")
"""Where vectors of entities are compared: in the index, in this process over those of the database, by DocumentDB."""
MIN_K = 50
"""Fewest candidates of DocumentDB's search, so that a small collection is covered."""
SEARCH_SECONDS = 1.0
"""How long a search waits for a server that may be down,"""
PAUSE_SECONDS = 10.0
"""... and for how long it then does not ask again; after a refusal six times as long."""
BATCH = 500


class EntityVectors:
    """The collection of one dimension. `search` is one of VECTOR_SEARCHES."""

    def __init__(
        self,
        connection: Connection,
        dimension: int,
        search: str,
        hnsw: Mapping[str, int],
        ef_search: int,
        fresh_seconds: float,
    ) -> None:
        self._connection, self._dimension, self._search = connection, dimension, search
        self._hnsw, self._ef_search, self._fresh_seconds = dict(hnsw), ef_search, fresh_seconds
        self.name = connection.name_of(collection_of(dimension))
        self._lock = Lock()
        self._cached: dict[str, tuple[str, str, Vector]] = {}  # digest, kind and vector by path
        self._matrices: dict[str, tuple[list[str], NDArray[np.float32]]] = {}
        self._fresh_until = self._refused_until = self._down_until = 0.0
        self._refusal = self._outage = ""

    # ------------------------------------------------------------ writing

    def digests(self) -> dict[str, str]:
        with self._connection.calls():
            found = self._connection.collection(collection_of(self._dimension)).find({}, {f"{OWN}.digest": 1})
            return {str(one["_id"]): _digest(one) for one in found}

    def put(self, entries: Iterable[EmbeddedEntity]) -> None:
        with self._connection.calls():
            from pymongo import ReplaceOne

            waiting = [ReplaceOne({"_id": one.entity.path}, document_of(one), upsert=True) for one in entries]
            self._create_indexes()
            for start in range(0, len(waiting), BATCH):
                self._connection.collection(collection_of(self._dimension)).bulk_write(
                    waiting[start : start + BATCH], ordered=False
                )
        self._fresh_until = 0.0

    def delete(self, paths: Collection[str]) -> None:
        listed = list(paths)
        with self._connection.calls():
            for start in range(0, len(listed), BATCH):
                some = {"_id": {"$in": listed[start : start + BATCH]}, OWN: {"$exists": True}}
                self._connection.collection(collection_of(self._dimension)).delete_many(some)
        self._fresh_until = 0.0

    def _create_indexes(self) -> None:
        """The indexes of the collection. A server without vector indexes refuses that one, and needs none."""
        from pymongo.errors import OperationFailure

        collection = self._connection.collection(collection_of(self._dimension))
        present = collection.index_information()
        if PATH_INDEX not in present:
            collection.create_index([("path", 1)], name=PATH_INDEX, unique=True)
        if VECTOR_INDEX not in present and self._search == DOCUMENTDB:
            try:
                self._connection.database.command(vector_index(self.name, self._dimension, self._hnsw))
            except OperationFailure as error:
                self._refuse(f"no HNSW index: code {error.code}")

    # ------------------------------------------------------------ searching

    def nearest(self, vector: Vector, kind: str, limit: int) -> dict[str, float]:
        if time.monotonic() < self._down_until:
            raise DatabaseDown(self._outage)
        try:
            found = self._by_database(vector, kind, limit)
            found = self._by_cosine(vector, kind) if found is None else found
        except DatabaseProblem as problem:
            self._outage, self._down_until = str(problem), time.monotonic() + PAUSE_SECONDS
            raise
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def fallback(self) -> str:
        now = time.monotonic()
        outage = f"{self._outage}; the vectors of the index are used" if now < self._down_until else ""
        return outage or (self._refusal if now < self._refused_until else "")

    def _by_database(self, vector: Vector, kind: str, limit: int) -> dict[str, float] | None:
        """DocumentDB's own search; None if it is not to be used, or refuses."""
        if self._search != DOCUMENTDB or time.monotonic() < self._refused_until:
            return None
        pipeline = vector_search(vector, kind, max(limit, MIN_K), self._ef_search)
        with self._connection.calls(SEARCH_SECONDS):
            from pymongo.errors import OperationFailure

            try:
                found = list(self._connection.collection(collection_of(self._dimension)).aggregate(pipeline))
            except OperationFailure as error:
                if error.timeout:
                    raise
                self._refuse(f"{self._connection.place} refuses $search.vectorSearch (code {error.code})")
                return None
        vectors = {str(one["_id"]): self._vector(one) for one in found}
        return {path: float(stored @ vector) for path, stored in vectors.items() if stored is not None}

    def _refuse(self, reason: str) -> None:
        self._refusal = f"{reason}; the vectors are compared here, exactly"
        self._refused_until = time.monotonic() + 6 * PAUSE_SECONDS

    def _by_cosine(self, vector: Vector, kind: str) -> dict[str, float]:
        with self._lock:
            if time.monotonic() >= self._fresh_until:
                self._refresh()
            paths, matrix = self._matrices.get(kind, ([], None))
        return {} if matrix is None else dict(zip(paths, (matrix @ vector).tolist(), strict=True))

    def _refresh(self) -> None:
        """Read the vectors that have changed since, and forget those that are gone."""
        import numpy as np

        collection = self._connection.collection(collection_of(self._dimension))
        with self._connection.calls(SEARCH_SECONDS):
            light = {f"{OWN}.digest": 1, "indexed_at": 1}
            stamps = {str(one["_id"]): _digest(one) or str(one.get("indexed_at")) for one in collection.find({}, light)}
        cached = {path: one for path, one in self._cached.items() if stamps.get(path) == one[0]}
        missing = [path for path in stamps if path not in cached]
        with self._connection.calls():
            for start in range(0, len(missing), BATCH):
                some = {"_id": {"$in": missing[start : start + BATCH]}}
                for one in collection.find(some, {"embedding": 1, "entity_type": 1}):
                    vector, path = self._vector(one), str(one["_id"])
                    if vector is not None:
                        cached[path] = (stamps[path], str(one.get("entity_type")), vector)
        if missing or len(cached) != len(self._cached):
            kinds: dict[str, list[str]] = {}
            for path in sorted(cached):
                kinds.setdefault(cached[path][1], []).append(path)
            self._matrices = {
                kind: (paths, np.stack([cached[path][2] for path in paths])) for kind, paths in kinds.items()
            }
        self._cached = cached
        self._fresh_until = time.monotonic() + self._fresh_seconds

    def _vector(self, document: Doc) -> Vector | None:
        """The vector of a document, with length 1; None if it has none of this dimension."""
        import numpy as np

        values = document.get("embedding")
        if not isinstance(values, list) or len(values) != self._dimension:
            return None
        vector: Vector = np.asarray(values, dtype=np.float32)
        length = float(np.linalg.norm(vector))
        return vector / length if length and np.isfinite(length) else None

    # ------------------------------------------------------------ counts

    def statistics(self, public_only: bool = False) -> dict[str, Any]:
        counted = {"_id": "$entity_type", "n": {"$sum": 1}}
        only = {"visibility": "public"} if public_only else {}
        with self._connection.calls():
            collection = self._connection.collection(collection_of(self._dimension))
            kinds = {str(one["_id"]): one["n"] for one in collection.aggregate([{"$match": only}, {"$group": counted}])}
            without = collection.count_documents({**only, "$or": [{"embedding": {"$size": 0}}, {"embedding": None}]})
            indexes = sorted(collection.index_information())
        return {
            "collection": self.name,
            "dimension": self._dimension,
            "entity_types": dict(sorted(kinds.items())),
            "documents": sum(kinds.values()),
            "without_embedding": without,
            "indexes": indexes,
        }


def _digest(document: Doc) -> str:
    own = document.get(OWN)
    return str(own.get("digest", "")) if isinstance(own, dict) else ""
