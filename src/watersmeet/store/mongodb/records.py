"""The `Records` port over the collections of a gateway registry in MongoDB.

A document's version is the time of its last change (`updated_at`), which every writer sets. A change names the one that
its author has read, so of two writers one gets `VersionConflict`, also when the other one is a gateway.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.errors import ConfigError, DatabaseProblem, VersionConflict, nearest
from watersmeet.core.names import is_text
from watersmeet.core.options import option
from watersmeet.core.registry_records import ChangedRecord, RecordVersion, Stored
from watersmeet.store.mongodb._connection import Connection, Doc
from watersmeet.store.mongodb._gateway_shape import (
    COLLECTIONS,
    CURRENT,
    VERSION_FIELDS,
    document_of,
    listed,
    read_back,
    time_of,
    version_of,
)
from watersmeet.store.mongodb.change_stream import ChangeStream
from watersmeet.store.mongodb.vectors import IN_INDEX, VECTOR_SEARCHES, EntityVectors

if TYPE_CHECKING:
    from pymongo.errors import DuplicateKeyError

COUNTER = "watersmeet_counter"
DELETED = "watersmeet_deleted"
"""Collections of our own: the last version, and the paths of deleted records with theirs."""
MAX_BEHIND = 1_000_000
"""Microseconds by which a version may be behind the clock."""
BATCH = 500


class _Found(NamedTuple):
    document: Doc
    kind: str


@dataclass(slots=True, eq=False)
class Mongodb:
    """Registered records in MongoDB, Atlas or DocumentDB, in the collections of a gateway registry."""

    uri: str = field(
        default="",
        repr=False,
        metadata={"meaning": "the connection string; better in the variable", "secret": True, "outside": True},
    )
    uri_env: str = option("MONGODB_URI", "environment variable that holds the connection string", outside=True)
    database: str = option("mcp_registry", "database, if the connection string names none", outside=True)
    namespace: str = option("", 'ending of the names of collections: "default" for mcp_servers_default', outside=True)
    timeout: float = option(5.0, "seconds for a call", outside=True, least=0.05)
    poll_seconds: float = option(5.0, "how often serve and mcp look for changes", outside=True, least=0.05)
    write_through: bool = option(False, "write vectors to mcp_embeddings_{dimension}, for gateways", outside=True)
    vector_search: str = option(
        IN_INDEX,
        "where the recipe registry compares vectors: index, cosine (of mcp_embeddings, in this process), documentdb",
        outside=True,
    )
    ef_search: int = option(100, "efSearch of DocumentDB's vector search", outside=True, least=1)
    m: int = option(16, "m of DocumentDB's HNSW index", outside=True, least=2)
    ef_construction: int = option(128, "efConstruction of DocumentDB's HNSW index", outside=True, least=4)
    _connection: Connection = field(init=False, repr=False)
    _stream: ChangeStream = field(init=False, repr=False)
    _vectors: dict[int, EntityVectors] = field(init=False, repr=False, default_factory=dict)
    _kinds: dict[str, str] = field(init=False, repr=False, default_factory=dict)
    """Kinds of paths when last read: the collection to look into first."""

    def __post_init__(self) -> None:
        if self.vector_search not in VECTOR_SEARCHES:
            raise ConfigError(
                f"records.mongodb.vector_search cannot be {self.vector_search!r}",
                nearest(self.vector_search, VECTOR_SEARCHES),
            )
        self._connection = self._connected()
        names = tuple(self._connection.name_of(base) for base in COLLECTIONS.values())
        self._stream = ChangeStream(lambda: self._connection.database, names)

    @property
    def place(self) -> str:
        return self._connection.place

    def close(self) -> None:
        self._stream.close()
        self._connection.close()

    def wait(self, seconds: float, stop: Event) -> None:
        with self._connection.calls():
            self._stream.wait(seconds, stop)

    def _connected(self) -> Connection:
        """A connection, which the first call opens."""
        return Connection(self.uri, self.uri_env, self.database, self.namespace, self.timeout)

    def published(self, dimension: int) -> EntityVectors | None:
        return self.vectors(dimension) if self.write_through else None

    def searched(self, dimension: int) -> EntityVectors | None:
        return None if self.vector_search == IN_INDEX else self.vectors(dimension)

    def vectors(self, dimension: int) -> EntityVectors:
        if dimension not in self._vectors:
            self._vectors[dimension] = EntityVectors(
                self._connection,
                dimension,
                self.vector_search,
                {"m": self.m, "efConstruction": self.ef_construction},
                self.ef_search,
                self.poll_seconds,
            )
        return self._vectors[dimension]

    # ------------------------------------------------------------ reading

    def get(self, path: str) -> Stored | None:
        with self._connection.calls():
            found = self._find(path)
        return read_back(*found) if found else None

    def several(self, paths: Collection[str]) -> Iterator[tuple[str, Stored]]:
        wanted = [path for path in paths if is_text(path)]
        for start in range(0, len(wanted), BATCH):
            some = {"_id": {"$in": wanted[start : start + BATCH]}, **CURRENT}
            for kind, base in COLLECTIONS.items():
                with self._connection.calls():
                    documents = list(self._connection.collection(base).find(some))
                for document in documents:
                    yield document["_id"], read_back(document, kind)

    def versions(self) -> dict[str, RecordVersion]:
        found: dict[str, RecordVersion] = {}
        kinds: dict[str, str] = {}
        with self._connection.calls():
            for kind, base in COLLECTIONS.items():
                for document in self._connection.collection(base).find(CURRENT, VERSION_FIELDS):
                    if isinstance(document["_id"], str):
                        found[document["_id"]] = listed(document)
                        kinds[document["_id"]] = kind
        self._kinds = kinds
        return found

    def changed_since(self, cursor: str, limit: int = 1000) -> tuple[list[ChangedRecord], str]:
        if cursor and not cursor.isdecimal():
            raise ConfigError(f"{cursor!r} is not a cursor of this registry", "begin again without one")
        last = int(cursor or 0)
        present = self.versions()
        changes = [(found.version, ChangedRecord(path, False)) for path, found in present.items()]
        with self._connection.calls():
            for gone in self._connection.collection(DELETED).find({"version": {"$gt": last}}):
                if gone["_id"] not in present:
                    changes.append((gone["version"], ChangedRecord(gone["_id"], True)))
        after = sorted(change for change in changes if change[0] > last)[:limit]
        return [change for _, change in after], str(after[-1][0]) if after else cursor

    def __iter__(self) -> Iterator[Stored]:
        with self._connection.calls():
            parts = [self._ordered(kind, base) for kind, base in COLLECTIONS.items()]
            for _, stored in heapq.merge(*parts, key=lambda one: one[0]):
                yield stored

    def _ordered(self, kind: str, base: str) -> Iterator[tuple[str, Stored]]:
        for document in self._connection.collection(base).find(CURRENT).sort("_id", 1):
            yield document["_id"], read_back(document, kind)

    def _find(self, path: str) -> _Found | None:
        if not is_text(path):
            return None
        same = [path, path.rstrip("/") if path.endswith("/") else f"{path}/"]  # one path, as for gateways
        first = self._kinds.get(path)
        for kind in sorted(COLLECTIONS, key=lambda kind: kind != first):
            document = self._connection.collection(COLLECTIONS[kind]).find_one({"_id": {"$in": same}, **CURRENT})
            if document is not None:
                self._kinds[path] = kind
                return _Found(document, kind)
        return None

    # ------------------------------------------------------------ writing

    def put(self, record: Mapping[str, Any], version: int | None) -> int:
        path, kind = record["path"], record["kind"]
        with self._connection.calls():
            from pymongo.errors import DuplicateKeyError

            found = self._checked(path, version)
            number = self._next_version()
            fields = document_of(record, number)
            collection = self._connection.collection(COLLECTIONS[kind])
            try:
                if found is not None and found.kind == kind:
                    done = collection.update_one(_as_read(found), {"$set": fields})
                    if not done.matched_count:
                        raise _conflict(path)
                else:
                    registered = found.document.get("registered_at") if found else None
                    collection.insert_one({"_id": path, **fields, "registered_at": registered or time_of(number)})
            except DuplicateKeyError as error:
                raise _duplicate(path, error) from None
            if found is not None and found.kind != kind:
                self._connection.collection(COLLECTIONS[found.kind]).delete_one(_as_read(found))
        self._kinds[path] = kind
        return number

    def delete(self, path: str, version: int) -> None:
        with self._connection.calls():
            found = self._checked(path, version)
            if found is None:
                raise _conflict(path)
            number = self._next_version()
            done = self._connection.collection(COLLECTIONS[found.kind]).delete_one(_as_read(found))
            if not done.deleted_count:
                raise _conflict(path)
            key = {"_id": found.document["_id"]}
            self._connection.collection(DELETED).replace_one(key, {"version": number}, upsert=True)

    def _checked(self, path: str, version: int | None) -> _Found | None:
        found = self._find(path)
        if (version_of(found.document) if found else None) != version:
            raise _conflict(path)
        return found

    def _next_version(self) -> int:
        """The next version: above all before, and near the clock, so that it exceeds those of a lost counter."""
        from pymongo import ReturnDocument

        counter, key = self._connection.collection(COUNTER), {"_id": "version"}
        while True:
            found = counter.find_one_and_update(
                key, {"$inc": {"n": 1}}, upsert=True, return_document=ReturnDocument.AFTER
            )
            now = time.time_ns() // 1000
            if found is not None and found["n"] >= now - MAX_BEHIND:
                return int(found["n"])
            counter.update_one(key, {"$max": {"n": now}})


def _as_read(found: _Found) -> Doc:
    """Condition on a document: it is as it was read."""
    return {"_id": found.document["_id"], "updated_at": found.document.get("updated_at")}


def _conflict(path: str) -> VersionConflict:
    return VersionConflict(f"{path} was changed by another writer meanwhile", "read it again, then change it again")


def _duplicate(path: str, error: DuplicateKeyError) -> Exception:
    keys = list(((error.details or {}).get("keyPattern") or {"_id": 1}).keys())
    if keys == ["_id"]:
        return _conflict(path)
    return DatabaseProblem(f"{path}: another record in MongoDB has the same {', '.join(keys)}", "give it another one")
