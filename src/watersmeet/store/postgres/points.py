"""Points of Qdrant, made again from what PostgreSQL keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from watersmeet.store.postgres.vectors import live_payloads, store_points
from watersmeet.store.postgres.versions import stored_versions

if TYPE_CHECKING:
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.pool import Db

BATCH = 2000


def make_words(
    generation: Generation, db: Db, collection: str, averages: Sequence[float], renew: Callable[[], None]
) -> None:
    """Weigh the words of all live rows with these average lengths. `renew` is called after each batch."""
    qdrant = generation.qdrant
    qdrant.drop(collection)
    qdrant.make(collection)
    last = 0
    sql = (
        "SELECT c.row, d.name FROM chunks c JOIN documents d ON d.key = c.document"
        " WHERE c.died IS NULL AND c.row > %s ORDER BY c.row LIMIT %s"
    )
    while found := dict(db.execute(sql, [last, BATCH]).fetchall()):
        last = max(found)
        stored = stored_versions(db, set(found.values()))
        chunks = [(chunk, one) for one in stored.values() for chunk in one.chunks if chunk.before in found]
        for chunk, _ in chunks:
            chunk.row = chunk.before or 0
        qdrant.put(collection, [chunk.point(averages, one.payload) for chunk, one in chunks])
        renew()


def make_vectors(
    generation: Generation, db: Db, collection: str, store: str, dimension: int, renew: Callable[[], None]
) -> int:
    """Write the vectors of all live rows that have one, then their graph; returns how many point somewhere."""
    qdrant = generation.qdrant
    qdrant.make(collection, dimension, loading=True)
    last = written = 0
    sql = "SELECT row, vector FROM vectors WHERE store = %s AND row > %s ORDER BY row LIMIT %s"
    while kept := db.execute(sql, [store, last, BATCH]).fetchall():
        last = kept[-1][0]
        payloads = {row: payload for row, (_, payload) in live_payloads(db, [row for row, _ in kept]).items()}
        points = store_points([one for one in kept if one[0] in payloads], dimension, payloads)
        qdrant.put(collection, points)
        written += len(points)
        renew()
    if dimension:
        qdrant.index(collection)
    return written
