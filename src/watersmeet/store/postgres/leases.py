"""Leases in PostgreSQL: who may write, until when by its clock, under which fence.

The fence of a name grows with every lease. A writer's transaction checks its own, so whoever lost the lease commits
nothing, also if it was only stopped and does not know. A thread renews the leases that this process holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexBusy, LeaseLost, WatersmeetError
from watersmeet.core.writing import Lease
from watersmeet.store.local._leases import AGAIN, is_dead, this_process

if TYPE_CHECKING:
    from watersmeet.store.postgres.pool import Db, Pool

WRITER, BOOKS, BESIDE = "writer", "bookkeeping", "beside"
"""Names of leases: of who writes, of who notes vectors, of who builds a generation beside the one that is searched."""
SECONDS = 30.0
"""How long a lease lasts without being renewed: a stopped or separated process loses it then."""
RENEW_SECONDS = 8.0
POLL_SECONDS = 0.05
LATE_SECONDS = 0.5
"""Between tries to release a lease while PostgreSQL does not answer."""
WANTED_SECONDS = 3.0
"""How long a wish to write counts, unless it is repeated."""
TURN_SECONDS = 1.0
"""How long a writer that lets others write waits for one of them to begin."""
_TAKE = (
    "INSERT INTO leases AS l (name, holder, expires, fence) VALUES (%s, %s, clock_timestamp() + %s * interval '1 s', 1)"
    " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires, fence = l.fence + 1,"
    " wanted = NULL WHERE l.expires <= clock_timestamp() OR (l.holder = %s AND l.fence = %s)"
    " RETURNING extract(epoch FROM l.expires)::float8, l.fence"
)


class Leases:
    """Leases of one index, for this process."""

    def __init__(self, pool: Pool, place: str) -> None:
        self._pool, self._place = pool, place
        self._held: dict[str, Lease] = {}
        self._lock, self._stop = Lock(), Event()
        self._thread: Thread | None = None

    def attempt(self, name: str) -> Lease | None:
        """The lease, if it is free, has run out, or its holder has certainly ended."""
        holder, dead = this_process(), ("", -1)
        with self._pool.connection() as db:
            found = db.execute("SELECT holder, fence FROM leases WHERE name = %s", [name]).fetchone()
            if found is not None and found[0] and is_dead(found[0]):
                dead = found
            taken = db.execute(_TAKE, [name, holder, SECONDS, *dead]).fetchone()
        if taken is None:
            return None
        lease = Lease(name, holder, *taken)
        self._keep(lease)
        return lease

    def take(self, name: str, wait: float) -> Lease:
        """The lease; `IndexBusy` after `wait` seconds in which its holder made no progress."""
        seen, end = None, time.monotonic() + wait
        while (lease := self.attempt(name)) is None:
            now = self._wish(name)
            if now != seen:
                seen, end = now, time.monotonic() + wait
            if time.monotonic() >= end:
                raise IndexBusy(
                    f"{self.holder(name)} is writing to {self._place}",
                    f"nothing was committed for {wait:g} s; try again when it is done, or raise writer.lock_seconds",
                )
            time.sleep(POLL_SECONDS)
        return lease

    def _wish(self, name: str) -> object:
        """Tell the holder that another waits; returns its progress."""
        with self._pool.connection() as db:
            return db.execute(
                "UPDATE leases SET wanted = clock_timestamp() + %s * interval '1 s' WHERE name = %s"
                " RETURNING fence, progress",
                [WANTED_SECONDS, name],
            ).fetchone()

    def is_wanted(self, name: str) -> bool:
        return bool(self._pool.ask("SELECT 1 FROM leases WHERE name = %s AND wanted > clock_timestamp()", [name]))

    def is_held(self, name: str) -> bool:
        sql = "SELECT holder FROM leases WHERE name = %s AND holder <> '' AND expires > clock_timestamp()"
        return any(not is_dead(holder) for (holder,) in self._pool.ask(sql, [name]))

    def release(self, lease: Lease) -> None:
        self._forget(lease)
        try:
            self._give_back(lease)
        except WatersmeetError:  # also if PostgreSQL was restarted: nobody should have to wait until it runs out
            Thread(target=self._release_late, args=(lease,), name="watersmeet-release", daemon=True).start()

    def _release_late(self, lease: Lease) -> None:
        """Release a lease as soon as PostgreSQL answers again, unless it has run out by then."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not self._stop.wait(LATE_SECONDS):
            with suppress(WatersmeetError):
                self._give_back(lease)
                return

    def _give_back(self, lease: Lease) -> None:
        with self._pool.connection() as db:
            db.execute(
                "UPDATE leases SET holder = '', expires = clock_timestamp() WHERE name = %s AND holder = %s"
                " AND fence = %s",
                [lease.name, lease.holder, lease.fence],
            )

    def give_turn(self, lease: Lease) -> None:
        """Release a lease that others want, and wait until one of them has it."""
        self.release(lease)
        end = time.monotonic() + TURN_SECONDS
        while time.monotonic() < end:
            if self._pool.ask("SELECT fence FROM leases WHERE name = %s", [lease.name]) != [(lease.fence,)]:
                return
            time.sleep(POLL_SECONDS)

    @contextmanager
    def held(self, name: str, wait: float) -> Iterator[Lease]:
        lease = self.take(name, wait)
        try:
            yield lease
        finally:
            self.release(lease)

    def holder(self, name: str) -> str:
        """Who has a lease, for messages."""
        with suppress(WatersmeetError):
            for (holder,) in self._pool.ask("SELECT holder FROM leases WHERE name = %s", [name]):
                machine, _, rest = str(holder).partition(" ")
                pid = rest.partition(" ")[0]
                if pid:
                    return f"process {pid} on {machine.partition('[')[0]}"
        return "another process"

    def close(self) -> None:
        self._stop.set()

    # ------------------------------------------------------------ renewal

    def renew(self, lease: Lease) -> None:
        """Renew a lease, as a sign of progress; a lost one is noticed by the next transaction."""
        with suppress(WatersmeetError), self._pool.connection() as db:
            _renew(db, lease, 1)

    def _keep(self, lease: Lease) -> None:
        with self._lock:
            self._held[lease.name] = lease
            if self._thread is None or not self._thread.is_alive():
                self._stop.clear()
                self._thread = Thread(target=self._renewing, name="watersmeet-leases", daemon=True)
                self._thread.start()

    def _forget(self, lease: Lease) -> None:
        with self._lock:
            if self._held.get(lease.name) == lease:
                del self._held[lease.name]

    def _renewing(self) -> None:
        while not self._stop.wait(RENEW_SECONDS):
            with self._lock:
                held = list(self._held.values())
                if not held:
                    self._thread = None
                    return
            for lease in held:
                with suppress(WatersmeetError), self._pool.connection() as db:
                    _renew(db, lease, 0)


def _renew(db: Db, lease: Lease, progress: int) -> None:
    db.execute(
        "UPDATE leases SET expires = clock_timestamp() + %s * interval '1 s', progress = progress + %s"
        " WHERE name = %s AND holder = %s AND fence = %s",
        [SECONDS, progress, lease.name, lease.holder, lease.fence],
    )


def check(db: Db, lease: Lease, place: str) -> None:
    """Raises if another has taken the lease since; else nobody takes it before this transaction ends."""
    sql = "UPDATE leases SET progress = progress + 1 WHERE name = %s AND holder = %s AND fence = %s"
    if db.execute(sql, [lease.name, lease.holder, lease.fence]).rowcount != 1:
        raise LeaseLost(f"another process has taken over the writing to {place}", AGAIN)


def without_fence(lease: Lease) -> Lease:
    """A lease that no transaction accepts."""
    return replace(lease, fence=0)
