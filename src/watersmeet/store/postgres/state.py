"""Small named values, in a table that lasts over generations. Versions come with every snapshot, without a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexBusy, NoIndex

if TYPE_CHECKING:
    from watersmeet.store.postgres.index import Postgres
    from watersmeet.store.postgres.pool import Db

_READ = "SELECT content FROM states WHERE name = %s"


@dataclass(frozen=True, slots=True)
class PostgresState:
    index: Postgres
    name: str

    def __str__(self) -> str:
        return f"{self.name} of {self.index.place}"

    def version(self) -> object:
        return self.index.versions().get(self.name)

    def read(self) -> bytes | None:
        try:
            found = self.index.lasting.ask(_READ, [self.name])
        except NoIndex:
            return None
        return bytes(found[0][0]) if found and found[0][0] is not None else None

    @contextmanager
    def changing(self, wait: float) -> Iterator[PostgresStateChange]:
        import psycopg

        self.index.make_lasting()
        change = PostgresStateChange(self.name)
        try:
            with self.index.lasting.transaction() as db:
                db.execute(f"SET LOCAL lock_timeout = {max(1, int(wait * 1000))}")
                db.execute("SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext(%s))", [self.name])
                change.db = db
                yield change
        except psycopg.errors.LockNotAvailable:
            raise IndexBusy(f"{self} is being changed by another process", "wait until it is done") from None
        if change.version is not None:
            self.index.note_version(self.name, change.version)


@dataclass(slots=True)
class PostgresStateChange:
    name: str
    db: Db | None = None
    version: int | None = None  # none: it was not written; 0: there is no value any more

    def read(self) -> bytes | None:
        assert self.db is not None  # noqa: S101 - for the type checker: inside the block
        found = self.db.execute(_READ, [self.name]).fetchall()
        return bytes(found[0][0]) if found and found[0][0] is not None else None

    def write(self, content: bytes | None) -> None:
        assert self.db is not None  # noqa: S101 - for the type checker: inside the block
        ((version,),) = self.db.execute(
            "INSERT INTO states AS s VALUES (%s, 1, %s) ON CONFLICT (name) DO UPDATE SET version = s.version + 1,"
            " content = excluded.content RETURNING version",
            [self.name, content],
        ).fetchall()
        self.version = 0 if content is None else int(version)
