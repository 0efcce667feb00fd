"""Claims of rows to embed: several processes make vectors of one tier at a time, and none of them twice.

A claim counts while the lease of its process lasts, which a thread renews. What a process makes of rows that it has
lost is not noted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.index import Unseen
from watersmeet.core.model import ChunkId, Row
from watersmeet.store.local._leases import is_dead

if TYPE_CHECKING:
    from watersmeet.core.writing import Lease
    from watersmeet.store.postgres.leases import Leases
    from watersmeet.store.postgres.pool import Db
    from watersmeet.store.postgres.vectors import PostgresVectorStore

_NAME = "claims-"
"""Beginning of the names of the leases of processes that embed."""
_LEASED = (
    f"(SELECT holder FROM leases WHERE starts_with(name, '{_NAME}') AND holder <> '' AND expires > clock_timestamp())"
)
_CLAIM = (
    "WITH missing AS (SELECT c.row, d.title, c.headings, c.text, {order} FROM chunks c JOIN documents d"
    " ON d.key = c.document WHERE c.died IS NULL AND c.row > %s AND NOT EXISTS (SELECT 1 FROM vectors v"
    " WHERE v.store = %s AND v.row = c.row) AND NOT EXISTS (SELECT 1 FROM claims k WHERE k.store = %s"
    f" AND k.row = c.row AND k.holder IN {_LEASED}) ORDER BY wanted, row LIMIT %s), claimed AS (INSERT INTO claims"
    " SELECT %s, row, %s FROM missing ON CONFLICT (store, row) DO UPDATE SET holder = excluded.holder)"
    " SELECT row, title, headings, text FROM missing ORDER BY wanted, row"
)


class Claims:
    """The claims of this process on rows of one store."""

    def __init__(self, store: PostgresVectorStore, leases: Leases, lease: Lease) -> None:
        self._store, self._leases, self._lease = store, leases, lease
        self._name = store.collection

    def window(self, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        """Claim rows without a vector that nobody else is embedding: those in `first` before the others."""
        found = self._claimed(limit, first, after)
        if len(found) < limit and self._free_dead():
            found += self._claimed(limit - len(found), first, after)
        return found

    def _claimed(self, limit: int, first: Sequence[ChunkId], after: int) -> list[Unseen]:
        order = "array_position(%s::text[], c.id) wanted" if first else "0 wanted"
        named = [list(first)] if first else []
        folder = self._store.folder
        with self._store.generation.writing.transaction() as db:
            db.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._name])
            values = [*named, after, folder, self._name, limit, self._name, self._lease.holder]
            found = db.execute(_CLAIM.format(order=order), values).fetchall()
        return [Unseen(Row(row), title, tuple(headings), text) for row, title, headings, text in found]

    def others(self) -> bool:
        """Whether other processes are embedding rows of this store."""
        return bool(self._holders())

    def _holders(self) -> list[str]:
        sql = f"SELECT DISTINCT holder FROM claims WHERE store = %s AND holder <> %s AND holder IN {_LEASED}"
        found = self._store.generation.reading.ask(sql, [self._name, self._lease.holder])
        return [holder for (holder,) in found]

    def _free_dead(self) -> bool:
        """End the claims of processes that have certainly ended."""
        dead = [holder for holder in self._holders() if is_dead(holder)]
        if dead:
            with self._store.generation.writing.connection() as db:
                db.execute("UPDATE leases SET expires = '-infinity' WHERE holder = ANY(%s)", [dead])
        return bool(dead)

    def use(self, db: Db, rows: Collection[int]) -> set[int]:
        """Those of these rows that are still claimed by this process; they are used up."""
        sql = "DELETE FROM claims WHERE store = %s AND row = ANY(%s) AND holder = %s RETURNING row"
        return {row for (row,) in db.execute(sql, [self._name, list(rows), self._lease.holder])}


@contextmanager
def claims_of(store: PostgresVectorStore, leases: Leases, holder: str) -> Iterator[Claims]:
    """Claims that end with the block; the store then takes only vectors of claimed rows."""
    lease = leases.attempt(f"{_NAME}{holder}")
    assert lease is not None  # noqa: S101 - nobody else has this name
    made = Claims(store, leases, lease)
    with store.generation.writing.connection() as db:
        db.execute(f"DELETE FROM claims WHERE holder NOT IN {_LEASED}")
    store.claims = made
    try:
        yield made
    finally:
        store.claims = None
        leases.release(lease)
        with suppress(WatersmeetError), store.generation.writing.connection() as db:
            db.execute("DELETE FROM leases WHERE name = %s", [lease.name])
            db.execute("DELETE FROM claims WHERE holder = %s", [lease.holder])
