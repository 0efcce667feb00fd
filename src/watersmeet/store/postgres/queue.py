"""The queue of jobs of an index: a small table, from which workers take with `FOR UPDATE SKIP LOCKED`.

All times are PostgreSQL's. Fences come from a sequence, so a job that is offered again has a higher one than before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from watersmeet.core.errors import LeaseLost
from watersmeet.core.queue import Job
from watersmeet.store.local._leases import is_dead, this_process

if TYPE_CHECKING:
    from watersmeet.store.postgres.pool import Db, Pool

_TABLES = """
CREATE SEQUENCE IF NOT EXISTS job_fences;
CREATE TABLE IF NOT EXISTS jobs (
    kind text NOT NULL, key text NOT NULL, due timestamptz NOT NULL DEFAULT clock_timestamp(),
    holder text NOT NULL DEFAULT '', expires timestamptz NOT NULL DEFAULT '-infinity', fence bigint NOT NULL DEFAULT 0,
    attempts int NOT NULL DEFAULT 0, again boolean NOT NULL DEFAULT false, problem text NOT NULL DEFAULT '',
    PRIMARY KEY (kind, key)
);
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS content text NOT NULL DEFAULT '';
CREATE TABLE IF NOT EXISTS claims (store text, row bigint, holder text NOT NULL, PRIMARY KEY (store, row));
CREATE TABLE IF NOT EXISTS job_results (key text PRIMARY KEY, result text NOT NULL);
"""
_MADE = "SELECT to_regclass('job_results')::text"
_LOCK = 7_410_051
"""Number of the advisory lock under which the tables are made."""
_OFFER = (
    "INSERT INTO jobs AS j (kind, key) VALUES (%s, %s) ON CONFLICT (kind, key)"
    " DO UPDATE SET again = true WHERE j.holder <> '' AND NOT j.again RETURNING 1"
)
_OFFER_ALL = "INSERT INTO jobs (kind, key, content) SELECT %s, * FROM unnest(%s::text[], %s::text[])"
_TAKE = (
    "UPDATE jobs SET holder = %s, expires = clock_timestamp() + %s * interval '1 s', fence = nextval('job_fences'),"
    " attempts = attempts + 1, again = false WHERE (kind, key) = (SELECT kind, key FROM jobs"
    " WHERE kind = ANY(%s) AND due <= clock_timestamp() AND expires <= clock_timestamp()"
    " ORDER BY due FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING kind, key, fence, attempts, content"
)
_MINE = "kind = %s AND key = %s AND fence = %s AND holder <> ''"
_FREE = "holder = '', expires = '-infinity', again = false"
_HOLDERS = "SELECT DISTINCT holder FROM jobs WHERE kind = ANY(%s) AND expires > clock_timestamp()"
_COUNTS = (
    "SELECT count(*) FILTER (WHERE expires <= clock_timestamp()), count(*) FILTER (WHERE expires > clock_timestamp()),"
    " count(*) FILTER (WHERE expires <= clock_timestamp() AND problem <> '') FROM jobs"
    " WHERE %s::text[] IS NULL OR kind = ANY(%s)"
)


class PostgresQueue:
    """The queue in the schema that lasts as long as the index."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._holder = this_process()
        if pool.ask(_MADE) == [(None,)]:
            with pool.transaction() as db:
                db.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
                db.execute(_TABLES)

    def offer(self, kind: str, key: str) -> bool:
        with self._pool.connection() as db:
            return db.execute(_OFFER, [kind, key]).fetchone() is not None

    def offer_all(self, kind: str, contents: Mapping[str, str]) -> None:
        with self._pool.connection() as db:
            db.execute(_OFFER_ALL, [kind, list(contents), list(contents.values())])

    def withdraw(self, beginning: str) -> None:
        with self._pool.connection() as db:
            for table in ("jobs", "job_results"):  # in this order: who finishes a job meanwhile notes its result first
                db.execute(f"DELETE FROM {table} WHERE starts_with(key, %s)", [beginning])

    def withdraw_waiting(self, kind: str, beginning: str) -> None:
        with self._pool.connection() as db:
            sql = "DELETE FROM jobs WHERE kind = %s AND starts_with(key, %s) AND expires <= clock_timestamp()"
            db.execute(sql, [kind, beginning])

    def take(self, kinds: Collection[str], seconds: float) -> Job | None:
        with self._pool.connection() as db:
            found = db.execute(_TAKE, [self._holder, seconds, list(kinds)]).fetchone()
            if found is None and (dead := [one for (one,) in db.execute(_HOLDERS, [list(kinds)]) if is_dead(one)]):
                db.execute("UPDATE jobs SET expires = '-infinity' WHERE holder = ANY(%s)", [dead])
                found = db.execute(_TAKE, [self._holder, seconds, list(kinds)]).fetchone()
        return Job(*found) if found else None

    def renew(self, job: Job, seconds: float) -> None:
        self._change(job, "UPDATE jobs SET expires = clock_timestamp() + %s * interval '1 s'", seconds)

    def finish(self, job: Job) -> None:
        with self._pool.transaction() as db:
            finish(db, job)

    def results(self, beginning: str, known: Collection[str] = ()) -> dict[str, str]:
        sql = "SELECT key, result FROM job_results WHERE starts_with(key, %s) AND NOT key = ANY(%s)"
        return dict(self._pool.ask(sql, [beginning, list(known)]))

    def give_back(self, job: Job, problem: str, seconds: float) -> None:
        sql = f"UPDATE jobs SET {_FREE}, problem = %s, due = clock_timestamp() + %s * interval '1 s'"
        self._change(job, sql, problem[:500], seconds)

    def counts(self, kinds: Collection[str] | None = None) -> dict[str, int]:
        wanted = None if kinds is None else list(kinds)
        ((waiting, running, failed),) = self._pool.ask(_COUNTS, [wanted, wanted])
        return {"waiting": waiting, "running": running, "failed": failed}

    def _change(self, job: Job, sql: str, *values: object) -> None:
        with self._pool.connection() as db:
            if not db.execute(f"{sql} WHERE {_MINE}", [*values, *job[:3]]).rowcount:
                raise _lost(job)


def check(db: Db, job: Job) -> None:
    """Raises if another has taken the job since, or it was withdrawn; else nobody takes it before this transaction
    ends."""
    if db.execute(f"SELECT 1 FROM jobs WHERE {_MINE} FOR UPDATE", job[:3]).fetchone() is None:
        raise _lost(job)


def finish(db: Db, job: Job, result: str = "") -> None:
    """The job is done, in the transaction of `db`. A result can be noted only once."""
    again = f"UPDATE jobs SET {_FREE}, attempts = 0, problem = '', due = clock_timestamp() WHERE {_MINE} AND again"
    if not db.execute(again, job[:3]).rowcount and not db.execute(f"DELETE FROM jobs WHERE {_MINE}", job[:3]).rowcount:
        raise _lost(job)
    if result:
        db.execute("INSERT INTO job_results VALUES (%s, %s)", [job.key, result])


def _lost(job: Job) -> LeaseLost:
    return LeaseLost(
        f"{job.kind} {job.key} was taken over by another worker, or withdrawn", "nothing is to be done here"
    )
