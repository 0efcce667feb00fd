"""Burial: dead rows leave Qdrant, and then PostgreSQL, after a grace period by PostgreSQL's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.pool import Db
    from watersmeet.store.postgres.writer import PostgresWriter

BATCH = 2000


def remove_points(generation: Generation, db: Db, rows: Sequence[int]) -> None:
    """Remove points of rows that no query can want any more."""
    ((points, words),) = db.execute("SELECT points, words FROM head").fetchall()
    stores = [words, *(name for (name,) in db.execute("SELECT name FROM stores"))]
    for start in range(0, len(rows), BATCH):
        for store in stores:
            generation.qdrant.remove(f"{points}-{store}", rows[start : start + BATCH])


def bury_rows(writer: PostgresWriter, grace: float) -> int:
    """Remove all rows that died before the grace period; returns how many."""
    ((last,),) = writer.db.execute(
        "SELECT coalesce(max(number), 0) FROM commits WHERE at <= clock_timestamp() - %s * interval '1 s'", [grace]
    ).fetchall()
    buried = 0
    while True:
        sql = "SELECT row FROM chunks WHERE died <= %s ORDER BY row LIMIT %s"
        rows = [row for (row,) in writer.db.execute(sql, [last, BATCH])]
        if not rows:
            break
        remove_points(writer.generation, writer.db, rows)
        with writer.transaction() as db:  # vectors go with them
            db.execute("DELETE FROM chunks WHERE row = ANY(%s)", [rows])
        buried += len(rows)
        writer.renew()
    with writer.transaction() as db:
        db.execute("DELETE FROM documents WHERE died <= %s", [last])
        db.execute("DELETE FROM commits WHERE number < %s", [last])
    return buried
