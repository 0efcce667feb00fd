"""PostgreSQL: the tables, and connections that threads take from a pool; each statement is one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import psycopg

from cluster_index.trips import Trips

TABLES = """
-- One line: the number of the last commit, the collection of points, the statistics that count, and what every query
-- wants to know of the whole (`summary`), made when something is committed.
CREATE TABLE head (
    commit bigint NOT NULL, generation int NOT NULL, epoch int NOT NULL, averages jsonb NOT NULL, facts jsonb NOT NULL,
    tiers jsonb NOT NULL, collections jsonb NOT NULL, summary jsonb NOT NULL
);
-- Each version of a document lives from the commit `born` on until the commit `died`.
CREATE TABLE documents (
    key bigserial PRIMARY KEY, name text NOT NULL, kind text NOT NULL, title text NOT NULL, path text NOT NULL,
    modified timestamptz, created text NOT NULL, collection text NOT NULL, fields jsonb NOT NULL, facets jsonb NOT NULL,
    filters text[] NOT NULL, called text[] NOT NULL, known text[] NOT NULL, title_key text NOT NULL,
    audience int NOT NULL, first_chunk text, record jsonb NOT NULL, born bigint NOT NULL, died bigint
);
CREATE INDEX ON documents (name);
CREATE INDEX ON documents USING gin (filters);
CREATE TABLE chunks (
    row bigint PRIMARY KEY, id text NOT NULL, document bigint NOT NULL, ordinal int NOT NULL, headings jsonb NOT NULL,
    place jsonb NOT NULL, text text NOT NULL, hash bytea NOT NULL, said jsonb NOT NULL,
    lengths jsonb NOT NULL, terms int[] NOT NULL, born bigint NOT NULL, died bigint
);
CREATE SEQUENCE rows;
CREATE INDEX ON chunks (id);
CREATE INDEX ON chunks (document, ordinal);
CREATE TABLE links (
    document bigint NOT NULL, ordinal int NOT NULL, key text NOT NULL, target text NOT NULL, type text NOT NULL,
    heading text NOT NULL, alias text NOT NULL
);
CREATE INDEX ON links (document);
CREATE INDEX ON links (key);
CREATE TABLE names (document bigint NOT NULL, key text NOT NULL, rank int NOT NULL);
CREATE INDEX ON names (document);
CREATE INDEX ON names (key);
CREATE TABLE mentions (document bigint NOT NULL, kind text NOT NULL, word text NOT NULL, places text NOT NULL);
CREATE INDEX ON mentions (word);
-- Who may see documents that not everyone may: 0 is everyone.
CREATE TABLE audiences (number serial PRIMARY KEY, labels text[] NOT NULL UNIQUE);
CREATE TABLE terms (number serial PRIMARY KEY, field text NOT NULL, text text NOT NULL, UNIQUE (field, text));
-- Statistics in epochs: how many rows of an audience have a term. Never changed.
CREATE TABLE epochs (epoch int NOT NULL, audience int NOT NULL, size bigint NOT NULL, PRIMARY KEY (epoch, audience));
CREATE TABLE frequencies (epoch int NOT NULL, audience int NOT NULL, term int NOT NULL, count int NOT NULL);
CREATE INDEX ON frequencies (epoch);
-- What models made: kept to make points again.
CREATE TABLE vectors (
    tier text NOT NULL, row bigint NOT NULL, vector real[], terms bigint[], weights real[], born bigint NOT NULL,
    PRIMARY KEY (tier, row)
);
CREATE TABLE states (name text PRIMARY KEY, version bigint NOT NULL, content bytea);
"""


class Postgres:
    """One schema of a database."""

    def __init__(self, address: str, schema: str, trips: Trips) -> None:
        self._address, self.schema, self._trips = address, schema, trips
        self._free: list[psycopg.Connection[Any]] = []
        self._lock = Lock()

    def make(self) -> None:
        with self.connection() as db:
            db.execute(f"CREATE SCHEMA {self.schema}")
            db.execute(TABLES)
            db.execute(
                "INSERT INTO head VALUES (0, 0, 0, '{}', '{}', '{}', '{}',"
                """ '{"audiences": {}, "gates": {}, "counts": {}, "unseen": {}, "last_row": 0}')"""
            )

    def drop(self) -> None:
        with self.connection() as db:
            db.execute(f"DROP SCHEMA {self.schema} CASCADE")
        self.close()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        with self._lock:
            free = self._free.pop() if self._free else None
        if free is None:
            free = psycopg.connect(self._address, autocommit=True, prepare_threshold=None)
            free.execute(f"SET search_path TO {self.schema}; SET timezone TO 'UTC'")
        try:
            yield free
        finally:
            with self._lock:
                self._free.append(free)

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """One statement, which is one call and sees one state of the database."""
        with self.connection() as db, self._trips.one("postgres"):
            return db.execute(sql, values).fetchall()

    def close(self) -> None:
        while self._free:
            self._free.pop().close()
