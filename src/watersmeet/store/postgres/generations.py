"""Generations of an index: each is a schema of its own in PostgreSQL, with collections of its own in Qdrant.

A new one is filled beside the one that answers, and one statement names it. Queries that began before go on with
theirs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING
from uuid import uuid4

from watersmeet.core.errors import IndexBusy, IndexMismatch
from watersmeet.store.postgres._schema import GENERATION, LASTING, MIGRATIONS, OF_ITS_OWN, VERSION
from watersmeet.store.postgres.epochs import KEPT, Epoch
from watersmeet.store.postgres.pool import Pool
from watersmeet.store.qdrant.points import Qdrant

if TYPE_CHECKING:
    from watersmeet.store.postgres.pool import Db

WRITE_SECONDS = 3600.0
"""Longest statement of a writer."""
LOCK_MS = 2000
"""How long a generation that is to be dropped is waited for."""


def lasting_schema(name: str) -> str:
    return f"wm_{name}"


def schema_of(name: str, number: int) -> str:
    return f"{lasting_schema(name)}__{number}"


@dataclass(eq=False)
class Generation:
    """One generation, opened: connections, and the statistics that all queries of this process share."""

    name: str
    number: int
    address: str
    seconds: float
    qdrant: Qdrant
    threads: ThreadPoolExecutor
    reading: Pool = field(init=False)
    writing: Pool = field(init=False)
    _epochs: dict[int, Epoch] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        schemas = (self.schema, lasting_schema(self.name))
        self.reading = Pool(self.address, self.seconds, self.seconds, schemas)
        self.writing = Pool(self.address, self.seconds, WRITE_SECONDS, schemas)

    @property
    def schema(self) -> str:
        return schema_of(self.name, self.number)

    def epoch(self, number: int) -> Epoch:
        """Read once for all queries until there is another."""
        epoch = self._epochs.get(number)
        if epoch is None:
            with self._lock:
                epoch = self._epochs.get(number)
                if epoch is None:
                    epoch = Epoch.read(self.reading, number)
                    recent = {n: one for n, one in self._epochs.items() if n > number - KEPT}
                    self._epochs = {**recent, number: epoch}
        return epoch

    def collection(self, points: str, store: str) -> str:
        return f"{points}-{store}"

    def close(self) -> None:
        self.reading.close()
        self.writing.close()


def make_lasting(pool: Pool, name: str) -> None:
    """The tables that last, made or brought up to date."""
    schema = lasting_schema(name)
    with pool.transaction() as db:
        db.execute("SELECT pg_advisory_xact_lock(hashtext('watersmeet'), hashtext(%s))", [name])
        if not db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone():
            db.execute(f"CREATE SCHEMA {schema}")
            db.execute(f"SET LOCAL search_path TO {schema}")
            db.execute(LASTING)
            return
        ((version,),) = db.execute(f"SELECT version FROM {schema}.index_head").fetchall()
        db.execute(f"SET LOCAL search_path TO {schema}")
        if version > VERSION:
            raise IndexMismatch(f"the index {name} was written by a newer watersmeet", "upgrade this one")
        for step in range(version, VERSION):
            db.execute(MIGRATIONS[step])
        db.execute("UPDATE index_head SET version = %s", [VERSION])


def make_generation(pool: Pool, name: str, own: bool = False) -> int:
    """An empty generation, which nothing names yet; its number was never used before. `own`: with tables of its own, by
    which a writer knows from the first moment that it is being built."""
    with pool.transaction() as db:
        ((number,),) = db.execute(
            f"UPDATE {lasting_schema(name)}.index_head SET made = made + 1 RETURNING made"
        ).fetchall()
        schema = schema_of(name, number)
        db.execute(f"CREATE SCHEMA {schema}")
        db.execute(f"SET LOCAL search_path TO {schema}")
        db.execute(GENERATION)
        db.execute("UPDATE head SET points = %s", [f"wm-{name}-{number}-{uuid4().hex[:8]}"])
        if own:
            make_own_tables(db, name, number)
    return int(number)


def name_generation(db: Db, name: str, number: int) -> None:
    """Let queries search a generation from now on, in the transaction of `db`. The one before keeps its states."""
    lasting = lasting_schema(name)
    ((before,),) = db.execute(f"SELECT generation FROM {lasting}.index_head FOR UPDATE").fetchall()
    if before:
        make_own_tables(db, name, before)
    _take_own_states(db, lasting, schema_of(name, number))
    db.execute(
        f"UPDATE {lasting}.index_head SET previous = nullif(generation, 0), generation = %s, named = clock_timestamp()",
        [number],
    )


def make_own_tables(db: Db, name: str, number: int) -> None:
    """Tables of its own for a generation, with the present states and records. No writer holds a lease there."""
    lasting, schema = lasting_schema(name), schema_of(name, number)
    for table in OF_ITS_OWN:
        db.execute(f"CREATE TABLE {schema}.{table} (LIKE {lasting}.{table} INCLUDING ALL)")
    for table in ("states", "records"):
        db.execute(f"INSERT INTO {schema}.{table} SELECT * FROM {lasting}.{table}")


def has_own_tables(pool: Pool, name: str, number: int) -> bool:
    return pool.ask("SELECT to_regclass(%s)::text", [f"{schema_of(name, number)}.leases"]) != [(None,)]


def _take_own_states(db: Db, lasting: str, schema: str) -> None:
    """Let the states of a generation be those of the index, each as a new version, and drop its own tables."""
    if db.execute("SELECT to_regclass(%s)::text", [f"{schema}.states"]).fetchall() == [(None,)]:
        return
    db.execute(
        f"UPDATE {lasting}.states SET content = NULL, version = version + 1 WHERE content IS NOT NULL AND name NOT IN"
        f" (SELECT name FROM {schema}.states WHERE content IS NOT NULL)"
    )
    db.execute(
        f"INSERT INTO {lasting}.states AS s SELECT name, version, content FROM {schema}.states ON CONFLICT (name)"
        " DO UPDATE SET content = excluded.content, version = greatest(s.version, excluded.version) + 1"
        " WHERE s.content IS DISTINCT FROM excluded.content"
    )
    for table in OF_ITS_OWN:
        db.execute(f"DROP TABLE {schema}.{table}")


def drop_generation(pool: Pool, qdrant: Qdrant, name: str, number: int) -> None:
    """Remove a generation; `IndexBusy` while a backup of it is made, and a later writer drops it then."""
    import psycopg

    schema = schema_of(name, number)
    found = pool.ask("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema])
    if not found:
        return
    ((points,),) = pool.ask(f"SELECT points FROM {schema}.head")
    for collection in qdrant.names():
        if collection.startswith(f"{points}-"):
            qdrant.drop(collection)
    try:
        with pool.transaction() as db:
            db.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
            db.execute(f"DROP SCHEMA {schema} CASCADE")
    except psycopg.errors.LockNotAvailable:
        hint = "wait until its backup is done; the next writer removes it"
        raise IndexBusy(f"generation {number} of the index {name} is being read", hint) from None
