"""The `Index` port over a cluster. It holds connections and statistics, and nothing that is lost with its process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import psycopg

from cluster_index.postgres import Postgres
from cluster_index.qdrant import Qdrant
from cluster_index.snapshot import ClusterSnapshot
from cluster_index.terms import Epoch
from cluster_index.trips import Trips
from watersmeet.core.errors import IndexBusy
from watersmeet.core.index import Check


class Cluster:
    """`name` is that of its schema in PostgreSQL, and what its collections in Qdrant begin with."""

    remote = True

    def __init__(self, postgres: str, qdrant: int, name: str, trips: Trips | None = None) -> None:
        self.trips = trips or Trips()
        self._servers = (postgres, qdrant)
        self.postgres, self.qdrant = Postgres(postgres, name, self.trips), Qdrant(qdrant, self.trips)
        self.place = f"cluster {name}"
        self.versions: dict[str, int] = {}
        """Of small state, as of the last snapshot or change."""
        self._name = name
        self._epochs: dict[int, Epoch] = {}
        self._idle: list[ClusterSnapshot] = []
        self.threads = ThreadPoolExecutor(8)
        self._lock = Lock()

    def again(self) -> Cluster:
        """The same index as another process sees it, which knows nothing of it yet."""
        return Cluster(*self._servers, self._name)

    def collection(self, generation: int) -> str:
        return f"{self._name}-{generation}"

    @contextmanager
    def snapshot(self) -> Iterator[ClusterSnapshot]:
        with self._lock:
            snapshot = self._idle.pop() if self._idle else ClusterSnapshot(self)
        try:
            snapshot.renew()
            yield snapshot
        finally:
            with self._lock:
                self._idle.append(snapshot)

    def epoch(self, number: int) -> Epoch:
        """Read once for all queries until there is another."""
        with self._lock:
            if number not in self._epochs:
                self._epochs = {
                    **{n: one for n, one in self._epochs.items() if n > number - 3},
                    number: self._read(number),
                }
            return self._epochs[number]

    def _read(self, number: int) -> Epoch:
        rows = self.postgres.ask(
            "SELECT t.field, t.text, f.term, f.audience, f.count FROM frequencies f JOIN terms t ON t.number = f.term"
            " WHERE f.epoch = %s UNION ALL SELECT NULL, NULL, NULL, audience, size FROM epochs WHERE epoch = %s",
            [number, number],
        )
        counts: dict[int, dict[int, int]] = {}
        for _, _, term, audience, count in rows:
            counts.setdefault(audience, {})[term] = count
        sizes = {audience: found.pop(None, 0) for audience, found in counts.items()}  # type: ignore[call-overload]
        return Epoch({(name, text): term for name, text, term, _, _ in rows if term}, counts, sizes)

    def state(self, name: str) -> ClusterState:
        return ClusterState(self, name)

    def check(self) -> list[Check]:
        """Whether Qdrant has every row that lives."""
        ((generation, live),) = self.postgres.ask(
            "SELECT generation, (SELECT count(*) FROM chunks WHERE died IS NULL) FROM head"
        )
        points = self.qdrant.call("GET", f"/collections/{self.collection(generation)}")["points_count"]
        return [Check("points", points >= live, f"{points} points, {live} live rows")]

    def size_bytes(self) -> int:
        found = self.postgres.ask(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
            " WHERE relnamespace = current_schema()::regnamespace"
        )
        return int(found[0][0])

    def close(self) -> None:
        self.threads.shutdown()
        self._idle.clear()
        self.postgres.close()
        self.qdrant.close()

    def drop(self) -> None:
        """Everything is gone."""
        ((last,),) = self.postgres.ask("SELECT generation FROM head")
        for generation in range(last + 1):
            self.qdrant.drop(self.collection(generation))
        self.postgres.drop()


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A value under a name. Its version comes with every snapshot, so that asking for it costs no call."""

    index: Cluster
    name: str

    def version(self) -> object:
        return self.index.versions.get(self.name)

    def read(self) -> bytes | None:
        found = self.index.postgres.ask("SELECT content FROM states WHERE name = %s", [self.name])
        return bytes(found[0][0]) if found and found[0][0] is not None else None

    @contextmanager
    def changing(self, wait: float) -> Iterator[ClusterChange]:
        with self.index.postgres.connection() as db:
            db.execute("BEGIN")
            db.execute(f"SET LOCAL lock_timeout = {max(1, int(wait * 1000))}")
            try:
                db.execute("SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext(%s))", [self.name])
                change = ClusterChange(db, self.name)
                yield change
                db.execute("COMMIT")
            except psycopg.errors.LockNotAvailable:
                raise IndexBusy(f"{self.name} is being changed by another", "wait until it is done") from None
            finally:
                if db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    db.execute("ROLLBACK")
        self.index.versions.update({self.name: change.version} if change.version else {})
        if change.version == 0:
            self.index.versions.pop(self.name, None)


@dataclass(slots=True)
class ClusterChange:
    db: psycopg.Connection[Any]
    name: str
    version: int | None = None  # none: it was not written; 0: there is no value any more

    def read(self) -> bytes | None:
        found = self.db.execute("SELECT content FROM states WHERE name = %s", [self.name]).fetchall()
        return bytes(found[0][0]) if found and found[0][0] is not None else None

    def write(self, content: bytes | None) -> None:
        sql = (
            "INSERT INTO states VALUES (%s, 1, %s) ON CONFLICT (name) DO UPDATE SET version = states.version + 1,"
            " content = excluded.content RETURNING version"
        )
        ((version,),) = self.db.execute(sql, [self.name, content]).fetchall()
        self.version = 0 if content is None else version
