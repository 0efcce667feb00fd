"""Points of Qdrant, made again from what PostgreSQL keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from watersmeet.common.batches import use_each
from watersmeet.store.postgres.vectors import live_payloads, store_points
from watersmeet.store.postgres.versions import payload_of, words_point

if TYPE_CHECKING:
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.pool import Db
    from watersmeet.store.qdrant.points import Point

BATCH = 2000


def make_words(
    generation: Generation, db: Db, collection: str, averages: Sequence[float], renew: Callable[[], None]
) -> None:
    """Weigh the words of all live rows with these average lengths. `renew` is called after each batch."""
    qdrant = generation.qdrant
    qdrant.drop(collection)
    qdrant.make(collection)

    def put(points: Sequence[Point]) -> None:
        qdrant.put(collection, points)
        renew()

    use_each(_words(db, averages), put)


def _words(db: Db, averages: Sequence[float]) -> Iterator[list[Point]]:
    last = 0
    sql = (
        "SELECT c.row, c.terms, c.fields, c.counts, c.lengths, d.filters, d.modified"
        " FROM chunks c JOIN documents d ON d.key = c.document"
        " WHERE c.died IS NULL AND c.row > %s ORDER BY c.row LIMIT %s"
    )
    while found := db.execute(sql, [last, BATCH]).fetchall():
        last = found[-1][0]
        yield [words_point(row, counted, averages, payload_of(filters, at)) for row, *counted, filters, at in found]


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
