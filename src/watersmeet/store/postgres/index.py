"""The `Index` port over PostgreSQL and Qdrant. A process holds connections and caches: nothing is lost with it."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from watersmeet.core.errors import DatabaseProblem, IndexBusy, NoIndex
from watersmeet.core.index import Check, Tier
from watersmeet.core.options import option
from watersmeet.store.local._leases import this_process
from watersmeet.store.postgres.generations import (
    Generation,
    drop_generation,
    lasting_schema,
    make_lasting,
    schema_of,
)
from watersmeet.store.postgres.leases import BOOKS, Leases
from watersmeet.store.postgres.pool import Address, Pool, address_of
from watersmeet.store.postgres.snapshot import PostgresSnapshot
from watersmeet.store.postgres.state import PostgresState
from watersmeet.store.postgres.vectors import PostgresVectorStore
from watersmeet.store.qdrant.nodes import Access, Nodes
from watersmeet.store.qdrant.points import Qdrant, Shape

if TYPE_CHECKING:
    from watersmeet.core.index import BackupPart, BackupSource, CatchUp, NextGeneration
    from watersmeet.core.queue import Job, Queue
    from watersmeet.core.writing import Bookkeeping, KnownRoot, Preview, Root, WriterOptions
    from watersmeet.store.postgres.claims import Claims
    from watersmeet.store.postgres.job_writer import PostgresJobWriter
    from watersmeet.store.postgres.receiver import PostgresReceiver
    from watersmeet.store.postgres.writer import PostgresWriter

FORMAT = 1
THREADS = 8


@dataclass(slots=True, eq=False)
class Postgres:
    """An index over PostgreSQL, with words and vectors in Qdrant: `--index postgresql://HOST/DATABASE?index=NAME`."""

    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    format: ClassVar[int] = FORMAT
    remote: ClassVar[bool] = True

    place: str
    qdrant: list[str] = option(
        ["http://127.0.0.1:6333"], "addresses of Qdrant's nodes; QDRANT_URL replaces them", outside=True
    )
    qdrant_grpc_ports: list[int] = option(
        [6334],
        "gRPC port of each node, the last for all further ones, by which points are written; 0: HTTP",
        outside=True,
    )
    qdrant_key_env: str = option("QDRANT_API_KEY", "environment variable with Qdrant's API key", outside=True)
    qdrant_ca: str = option(
        "",
        "file with the certificates that Qdrant's are signed by, else those of the system; QDRANT_CA replaces it",
        outside=True,
    )
    timeout: float = option(10.0, "seconds for what a query asks a server", outside=True, least=0.05)
    write_timeout: float = option(120.0, "seconds for a batch of points to be written", outside=True, least=1)
    shards: int = option(1, "shards of a new collection; several, if Qdrant has several nodes", outside=True, least=1)
    replicas: int = option(1, "copies of each shard: with 2 a node may be lost", outside=True, least=1)
    write_factor: int = option(
        1,
        "copies that must have a write; with 2 replicas 1, with 3 replicas 2, or a lost node stops writers",
        outside=True,
        least=1,
    )
    m: int = option(16, "links of a vector in the HNSW graph; more find better and take more memory", least=0)
    ef_construct: int = option(128, "neighbours looked at when the graph is made", least=4)
    ef: int = option(100, "neighbours that a search looks at; more find better and take longer", least=1)
    quantization: str = option(
        "none", "codes that vectors are compared by before the exact score: none, scalar (a quarter), binary (1/32)"
    )
    oversampling: float = option(2.0, "with codes: how many times more candidates get an exact score", least=1)
    epoch_share: float = option(0.05, "statistics of words are published when so many rows have changed", least=0)
    keep_previous_hours: float = option(24.0, "how long the generation before is kept, to go back to it", least=0)
    _opened: Opened | None = field(default=None, init=False, repr=False)
    _address: Address = field(default=Address("", ""), init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._shape()
        self._address = address_of(self.place)
        if "://" in self.place:
            self.place = self._address.shown

    def _shape(self) -> Shape:
        return Shape(
            self.m,
            self.ef_construct,
            self.ef,
            self.quantization,
            self.oversampling,
            self.shards,
            self.replicas,
            self.write_factor,
        )

    @property
    def _o(self) -> Opened:
        with self._lock:
            if self._opened is None:
                self._opened = Opened(self)
            return self._opened

    def opened_parts(self) -> tuple[Address, Nodes]:
        """The address of PostgreSQL and the nodes of Qdrant."""
        urls = [url for url in re.split(r"[,\s]+", os.environ.get("QDRANT_URL", "")) if url] or self.qdrant
        authority = os.environ.get("QDRANT_CA", "") or os.path.expanduser(self.qdrant_ca)
        access = Access(os.environ.get(self.qdrant_key_env, ""), self.qdrant_key_env, authority)
        return self._address, Nodes(urls, self.qdrant_grpc_ports, access, self.timeout, self.write_timeout)

    def shape(self) -> Shape:
        return self._shape()

    # ------------------------------------------------------------ reading

    def exists(self) -> bool:
        return self._o.current() is not None

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        with self._o.snapshot() as snapshot:
            yield snapshot

    def state(self, name: str) -> PostgresState:
        return PostgresState(self, name)

    @property
    def lasting(self) -> Pool:
        return self._o.lasting

    def make_lasting(self) -> None:
        self._o.make_lasting()

    def versions(self) -> Mapping[str, int]:
        """Versions of small state, as of the last snapshot."""
        return self._o.versions()

    def note_version(self, name: str, version: int) -> None:
        self._o.note_version(name, version)

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    # ------------------------------------------------------------ writing

    @contextmanager
    def writer(self, options: WriterOptions, recreate: bool = False) -> Iterator[PostgresWriter]:
        from watersmeet.store.postgres.open_writer import open_writer

        with open_writer(self._o, self.place, options, recreate, self.epoch_share, self.keep_previous_hours) as writer:
            yield writer

    @contextmanager
    def preview(self) -> Iterator[Preview]:
        from watersmeet.store.postgres.preview import open_preview

        with open_preview(self._o, self.place) as preview:
            yield preview

    @contextmanager
    def bookkeeping(self, wait: float) -> Iterator[Bookkeeping]:
        from watersmeet.store.postgres.catalogue import Catalogue

        generation = self._o.generation()
        with self._o.leases.held(BOOKS, wait) as lease, generation.writing.connection() as db:
            catalogue = Catalogue(generation, db, self.place)
            catalogue.lease = lease
            yield catalogue

    def queue(self) -> Queue:
        """The jobs of this index, for any number of workers."""
        from watersmeet.store.postgres.queue import PostgresQueue

        self.make_lasting()
        return PostgresQueue(self.lasting)

    @contextmanager
    def job_writer(self, options: WriterOptions, job: Job, giving: Collection[int]) -> Iterator[PostgresJobWriter]:
        from watersmeet.store.postgres.job_writer import open_job_writer

        with open_job_writer(self._o, options, job, giving) as writer:
            yield writer

    @contextmanager
    def claims(self, store: PostgresVectorStore) -> Iterator[Claims]:
        from watersmeet.store.postgres.claims import claims_of

        self.queue()  # makes the tables
        with claims_of(store, self._o.leases, this_process()) as claims:
            yield claims

    @contextmanager
    def alone(self, work: str) -> Iterator[None]:
        opened, name = self._o, f"alone-{work}"
        opened.make_lasting()
        lease = opened.leases.attempt(name)
        if lease is None:
            raise IndexBusy(f"{opened.leases.holder(name)} is at it", "wait until it is done")
        try:
            yield
        finally:
            opened.leases.release(lease)

    def root_places(self) -> list[str]:
        if self._o.current() is None:
            return []
        return [path for (path,) in self._o.generation().reading.ask("SELECT path FROM roots ORDER BY id")]

    def known_roots(self, wanted: Callable[[Root], bool]) -> Mapping[str, KnownRoot]:
        from watersmeet.core.writing import KnownRoot
        from watersmeet.store.postgres.catalogue import files_in, roots_in

        if self._o.current() is None:
            return {}
        with self._o.generation().writing.transaction() as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            facts = dict(db.execute("SELECT key, value FROM facts").fetchall())
            roots = [root for root in roots_in(db) if wanted(root)]
            return {root.path: KnownRoot(root, files_in(db, root.id), facts) for root in roots}

    def vector_store(self, tier: Tier) -> PostgresVectorStore:
        generation = self._o.generation()
        ((points,),) = generation.reading.ask("SELECT points FROM head")
        return PostgresVectorStore(generation, points, tier)

    def name_vectors(self, tier: str, fingerprint: str, facts: Mapping[str, str], replaces: str = "") -> str:
        name = re.sub(r"[^a-z0-9-]", "-", f"vectors-{tier}-{fingerprint[:8].lower()}")
        if not replaces.startswith(name):
            return name
        return f"{name}-{1 + int(replaces.removeprefix(name).lstrip('-') or 1)}"

    @contextmanager
    def receive(self, identity: str, wait: float) -> Iterator[PostgresReceiver]:
        from watersmeet.store.postgres.receiver import receive

        with receive(self, self._o, identity, wait) as receiver:
            yield receiver

    def pinned(self, number: int) -> Postgres:
        """This index as it is in one generation, named or not."""
        other = copy.copy(self)
        other.place, other._opened, other._lock = self.address(number), None, Lock()
        other.__post_init__()
        return other

    def address(self, generation: int) -> str:
        """The address of one generation, with its secrets."""
        return self._address._replace(generation=generation).text

    def drop(self) -> None:
        """Remove the index, with all of its generations."""
        self._o.drop()

    # ------------------------------------------------------------ backups

    kind: ClassVar[str] = "postgresql"

    @contextmanager
    def back_up(self, scratch: str, wait: float) -> Iterator[BackupSource]:
        from watersmeet.store.postgres.backup import back_up

        with back_up(self._o) as source:
            yield source

    def restore(self, parts: Iterator[BackupPart], states: Collection[str], replace: bool, wait: float) -> int:
        from watersmeet.store.postgres.backup import restore

        return restore(self._o, parts, states, replace, wait)

    # ------------------------------------------------------------ generations

    def can_be_beside(self) -> bool:
        from watersmeet.store.postgres.beside import can_be_beside

        return can_be_beside(self)

    def next_generation(self) -> AbstractContextManager[NextGeneration]:
        from watersmeet.store.postgres.beside import next_generation

        return next_generation(self, self._o)

    def roll_back(self, catch_up: CatchUp, wait: float) -> str:
        from watersmeet.store.postgres.beside import roll_back

        return roll_back(self, self._o, catch_up, wait)

    def forget_previous(self) -> int:
        from watersmeet.store.postgres.beside import forget_previous

        return forget_previous(self._o)

    # ------------------------------------------------------------ health

    def note_damage(self, reason: str) -> None:
        """Both servers have check sums of their own, and `doctor` says what is missing."""

    def check(self) -> list[Check]:
        from watersmeet.store.postgres.health import check_index

        return check_index(self._o, self.place)

    def servers(self) -> list[Check]:
        """Whether PostgreSQL and Qdrant answer, for the readiness of a server."""
        from watersmeet.store.postgres.health import check_servers

        return check_servers(self._o)

    def size_bytes(self) -> int:
        from watersmeet.store.postgres.health import size_of

        return size_of(self._o)


class Opened:
    """What a process has open of an index: connections, the current generation, and snapshots to be used again."""

    def __init__(self, index: Postgres) -> None:
        address, nodes = index.opened_parts()
        self.address, self.name, self.pin = address
        self.seconds, self.place = index.timeout, index.place
        self.qdrant = Qdrant(nodes, index.shape())
        own = () if self.pin is None else (schema_of(self.name, self.pin),)
        schemas = (*own, lasting_schema(self.name))
        self.lasting = Pool(self.address, index.timeout, index.write_timeout, schemas)
        self.leases = Leases(self.lasting, self.place)
        self.threads = ThreadPoolExecutor(THREADS, "watersmeet-cluster")
        self._generation: Generation | None = None
        self._generations: dict[int, Generation] = {}
        self._idle: list[PostgresSnapshot] = []
        self._versions: dict[str, int] | None = None
        self._made = False
        self._lock = Lock()

    # ------------------------------------------------------------ generations

    def current(self) -> int | None:
        """The generation that is searched; None if there is no index."""
        if self.pin is not None:
            head = f"{schema_of(self.name, self.pin)}.head"
            return None if self.lasting.ask("SELECT to_regclass(%s)::text", [head]) == [(None,)] else self.pin
        found = self.lasting.ask("SELECT to_regclass(%s)::text", [f"{lasting_schema(self.name)}.index_head"])
        if found[0][0] is None:
            return None
        ((number,),) = self.lasting.ask("SELECT generation FROM index_head")
        return int(number) or None

    def generation(self, number: int | None = None) -> Generation:
        """A generation, opened; the current one without a number."""
        wanted = number if number is not None else self.current()
        if wanted is None:
            raise NoIndex(
                f"there is no index in {self.place}", f"make one with `watersmeet sync PATH --index {self.place}`"
            )
        with self._lock:
            opened = self._generations.get(wanted)
            if opened is None:
                opened = Generation(self.name, wanted, self.address, self.seconds, self.qdrant, self.threads)
                self._generations[wanted] = opened
            if number is None and self._generation is not opened:
                self._generation, self._idle = opened, []
                for old in [one for one in self._generations.values() if one is not opened]:
                    del self._generations[old.number]
                    old.close()
            return opened

    def make_lasting(self) -> None:
        if not self._made:
            make_lasting(self.lasting, self.name)
            self._made = True

    # ------------------------------------------------------------ snapshots

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        snapshot = self._renewed()
        self._versions = snapshot.states
        try:
            yield snapshot
        finally:
            with self._lock:
                if snapshot.of(self._generation):
                    self._idle.append(snapshot)

    def _renewed(self) -> PostgresSnapshot:
        """A snapshot of the newest commit; another generation may have been named in between."""
        for _ in range(5):
            generation = self._generation or self.generation()
            with self._lock:
                snapshot = self._idle.pop() if self._idle else PostgresSnapshot(generation)
            try:
                if snapshot.of(generation) and snapshot.renew(self.pin):
                    return snapshot
            except DatabaseProblem:
                if self.current() == generation.number:
                    raise
            with self._lock:
                self._generation, self._idle = None, []
        raise IndexBusy(f"{self.place} is being built anew again and again", "try again")

    def versions(self) -> dict[str, int]:
        if self._versions is None:
            try:
                found = self.lasting.ask("SELECT name, version FROM states WHERE content IS NOT NULL")
            except DatabaseProblem:
                if self.current() is not None:
                    raise
                found = []
            self._versions = dict(found)
        return self._versions

    def note_version(self, name: str, version: int) -> None:
        known = {key: one for key, one in self.versions().items() if key != name}
        self._versions = {**known, name: version} if version else known

    def drop(self) -> None:
        if self.current() is not None:
            ((made,),) = self.lasting.ask("SELECT made FROM index_head")
            for number in range(1, made + 1):
                drop_generation(self.lasting, self.qdrant, self.name, number)
        with self.lasting.connection() as db:
            db.execute(f"DROP SCHEMA IF EXISTS {lasting_schema(self.name)} CASCADE")

    def close(self) -> None:
        self.leases.close()
        self.threads.shutdown()
        self._idle.clear()
        for generation in self._generations.values():
            generation.close()
        self.lasting.close()
        self.qdrant.nodes.close()
