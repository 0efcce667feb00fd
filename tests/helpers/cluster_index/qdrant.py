"""Qdrant over its REST interface, by what the standard library has; connections are kept open."""

from __future__ import annotations

import http.client
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from cluster_index.trips import Trips

Point = Mapping[str, Any]
Found = list[tuple[int, float]]
WORDS = "words"
"""The sparse vector of all text fields."""
FILTERS, MODIFIED = "filters", "modified"
"""What conditions are held by: an array of `key=value`, and a number of seconds."""


class Qdrant:
    def __init__(self, port: int, trips: Trips) -> None:
        self._port, self._trips = port, trips
        self._free: list[http.client.HTTPConnection] = []
        self._lock = Lock()

    def call(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        with self._lock:
            free = self._free.pop() if self._free else None
        with self._trips.one("qdrant"):
            try:
                status, text = self._exchange(free or self._connect(), method, path, content)
            except ConnectionError:  # Qdrant closes what is idle for five seconds
                if free is None:
                    raise
                status, text = self._exchange(self._connect(), method, path, content)
        if status != 200:
            raise RuntimeError(f"Qdrant: {method} {path}: {text.decode()}")
        return json.loads(text)["result"]

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, content: bytes | None
    ) -> tuple[int, bytes]:
        try:
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._free.append(connection)
        return answer.status, text

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    def make(self, collection: str, dimensions: Mapping[str, int], sparse: Iterable[str]) -> None:
        """Without a graph for the vectors: at this size all of them are looked at."""
        dense = {name: {"size": size, "distance": "Cosine"} for name, size in dimensions.items()}
        settings = {
            "vectors": dense,
            "sparse_vectors": {name: {} for name in sparse},
            "hnsw_config": {"m": 0},
            "optimizers_config": {"default_segment_number": 1},
        }
        self.call("PUT", f"/collections/{collection}", settings)
        for name, kind in ((FILTERS, "keyword"), (MODIFIED, "float")):
            index = {"field_name": name, "field_schema": kind}
            self.call("PUT", f"/collections/{collection}/index?wait=true", index)

    def drop(self, collection: str) -> None:
        self.call("DELETE", f"/collections/{collection}")

    def put(self, collection: str, points: Sequence[Point], limit: int = 256) -> None:
        for start in range(0, len(points), limit):
            part = {"points": points[start : start + limit]}
            self.call("PUT", f"/collections/{collection}/points?wait=true", part)

    def add_vectors(self, collection: str, points: Sequence[Point], limit: int = 512) -> None:
        for start in range(0, len(points), limit):
            part = {"points": points[start : start + limit]}
            self.call("PUT", f"/collections/{collection}/points/vectors?wait=true", part)

    def search(self, collection: str, queries: Sequence[Mapping[str, Any]]) -> list[Found]:
        """Several queries in one call."""
        answers = self.call("POST", f"/collections/{collection}/points/query/batch", {"searches": list(queries)})
        return [[(point["id"], point["score"]) for point in answer["points"]] for answer in answers]


def query(
    vector: object, using: str, limit: int, condition: Mapping[str, Any], rows: Collection[int] | None = None
) -> dict[str, Any]:
    """One search: rows with their scores, the best first, and nothing else of them."""
    held = (
        {**condition, "must": [*condition.get("must", ()), {"has_id": list(rows)}]} if rows is not None else condition
    )
    return {"query": vector, "using": using, "limit": limit, "filter": held, "params": {"exact": True}}


def sparse(weights: Mapping[int, float]) -> dict[str, list[Any]]:
    return {"indices": list(weights), "values": list(weights.values())}
