"""Collections of points in Qdrant: one for words, and one for the vectors of each model.

A point is the version of a chunk that has its row number. It has one vector, and what conditions are pushed down to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.errors import ConfigError, DatabaseProblem, nearest
from watersmeet.store.qdrant._wire import VECTOR, upsert
from watersmeet.store.qdrant.nodes import Nodes

if TYPE_CHECKING:
    from watersmeet.core.sparse import TermArray, Weights
    from watersmeet.core.vectors import Vector

FILTERS, MODIFIED = "filters", "modified"
"""What conditions are held by: an array of `key=value`, and a number of seconds."""
QUANTIZATIONS = ("none", "scalar", "binary")
MAX_BYTES = 8 << 20
"""Size of a message of points: Qdrant refuses one of 32 MiB."""
Found = list[tuple[int, float]]


class Point(NamedTuple):
    row: int
    vector: Vector | tuple[TermArray, Weights]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """How collections are made: see the settings of `[store.postgres]`."""

    m: int = 16
    ef_construct: int = 128
    ef: int = 100
    quantization: str = "none"
    oversampling: float = 2.0
    shards: int = 1
    replicas: int = 1
    write_factor: int = 1
    exact_up_to: int = 200_000

    def __post_init__(self) -> None:
        if self.quantization not in QUANTIZATIONS:
            hint = nearest(self.quantization, QUANTIZATIONS)
            raise ConfigError(f"store.postgres.quantization cannot be {self.quantization!r}", hint)

    def settings(self, dimension: int, loading: bool) -> dict[str, Any]:
        """Of a collection of vectors, or of sparse ones if it has no dimension. `loading`: the graph is made later."""
        found: dict[str, Any] = {
            "shard_number": self.shards,
            "replication_factor": self.replicas,
            "write_consistency_factor": self.write_factor,
        }
        if not dimension:
            return found | {"sparse_vectors": {VECTOR: {}}}
        found["vectors"] = {VECTOR: {"size": dimension, "distance": "Cosine"}}
        found["hnsw_config"] = {"m": 0 if loading else self.m, "ef_construct": self.ef_construct}
        if self.quantization == "scalar":
            found["quantization_config"] = {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}}
        elif self.quantization == "binary":
            found["quantization_config"] = {"binary": {"always_ram": True}}
        return found

    @property
    def params(self) -> dict[str, Any]:
        """Of a search in vectors: how many neighbours the graph looks at, and the exact score of what it found."""
        if self.quantization == "none":
            return {"hnsw_ef": self.ef}
        return {"hnsw_ef": self.ef, "quantization": {"rescore": True, "oversampling": self.oversampling}}


@dataclass(frozen=True, slots=True)
class Qdrant:
    nodes: Nodes
    shape: Shape = field(default_factory=Shape)

    # ------------------------------------------------------------ collections

    def make(self, collection: str, dimension: int = 0, loading: bool = False) -> None:
        """Make a collection, unless it exists."""
        if self.count(collection) is not None:
            return
        bulk = self.nodes.bulk_seconds
        path = f"/collections/{collection}"
        try:
            self.nodes.call("PUT", path, self.shape.settings(dimension, loading), bulk)
        except DatabaseProblem:
            if self.count(collection) is None:  # else another process was first
                raise
        for name, kind in ((FILTERS, "keyword"), (MODIFIED, "float")):
            self.nodes.call("PUT", f"{path}/index?wait=true", {"field_name": name, "field_schema": kind}, bulk)

    def index(self, collection: str) -> None:
        """Make the graph of a collection that was loaded without."""
        hnsw = {"hnsw_config": {"m": self.shape.m, "ef_construct": self.shape.ef_construct}}
        self.nodes.call("PATCH", f"/collections/{collection}", hnsw, self.nodes.bulk_seconds)

    def drop(self, collection: str) -> None:
        self.nodes.call("DELETE", f"/collections/{collection}", seconds=self.nodes.bulk_seconds)

    def names(self) -> list[str]:
        found = self.nodes.call("GET", "/collections") or {"collections": []}
        return [one["name"] for one in found["collections"]]

    def count(self, collection: str) -> int | None:
        """How many points there are; None if there is no such collection."""
        found = self.nodes.call("POST", f"/collections/{collection}/points/count", {"exact": True})
        return None if found is None else int(found["count"])

    def state(self, collection: str) -> str:
        """`green` once all segments are optimised."""
        found = self.nodes.call("GET", f"/collections/{collection}")
        return "missing" if found is None else str(found["status"])

    # ------------------------------------------------------------ points

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Write points; when it returns, all can be found. Those that exist stay as they are: a row never changes."""
        for part in _parts(points):
            if self.nodes.bulk:
                self.nodes.put(upsert(collection, part))
            else:
                body = {"points": [_as_json(point) for point in part]}
                path = f"/collections/{collection}/points?wait=true"
                if self.nodes.call("PUT", path, body, self.nodes.bulk_seconds) is None:
                    raise DatabaseProblem(f"the collection {collection} is not there")

    def remove(self, collection: str, rows: Collection[int]) -> None:
        if rows:
            path = f"/collections/{collection}/points/delete?wait=true"
            self.nodes.call("POST", path, {"points": list(rows)}, self.nodes.bulk_seconds)

    def search(self, collection: str, queries: Sequence[Mapping[str, Any]]) -> list[Found]:
        """Several queries in one call."""
        if not queries:
            return []
        body = {"searches": list(queries)}
        answers = self.nodes.call("POST", f"/collections/{collection}/points/query/batch", body)
        if answers is None:
            raise DatabaseProblem(
                f"Qdrant has no collection {collection}", "`watersmeet sync` makes it again; see `watersmeet doctor`"
            )
        return [[(point["id"], point["score"]) for point in answer["points"]] for answer in answers]

    def query(
        self,
        vector: Any,
        limit: int,
        condition: Mapping[str, Any],
        rows: Collection[int] | None = None,
        exact: bool = False,
    ) -> dict[str, Any]:
        """One search: rows with their scores, the best first, and nothing else of them. `rows`: only these. `exact`:
        compare all vectors instead of following the graph, unless they are quantized."""
        found = {"query": vector, "using": VECTOR, "limit": limit, "filter": condition}
        if rows is not None:
            found["filter"] = {**condition, "must": [*condition.get("must", ()), {"has_id": list(rows)}]}
        if isinstance(vector, list):
            every = rows is not None or (exact and self.shape.quantization == "none")
            found["params"] = {"exact": True} if every else self.shape.params
        return found


def sparse(terms: Mapping[int, float]) -> dict[str, list[Any]]:
    """The sparse vector of a query."""
    return {"indices": list(terms), "values": list(terms.values())}


def _parts(points: Sequence[Point]) -> Iterator[Sequence[Point]]:
    """Points in messages of bounded size."""
    start, size = 0, 0
    for end, point in enumerate(points):
        width = 10 * len(point.vector[0]) if isinstance(point.vector, tuple) else 4 * len(point.vector)
        width += sum(len(one) + 4 for one in point.payload.get(FILTERS, ())) + 64
        if size + width > MAX_BYTES and end > start:
            yield points[start:end]
            start, size = end, 0
        size += width
    if start < len(points):
        yield points[start:]


def _as_json(point: Point) -> dict[str, Any]:
    vector: Any
    if isinstance(point.vector, tuple):
        terms, weights = point.vector
        vector = {"indices": [int(term) for term in terms], "values": [float(weight) for weight in weights]}
    else:
        vector = [float(value) for value in point.vector]
    return {"id": point.row, "vector": {VECTOR: vector}, "payload": dict(point.payload)}
