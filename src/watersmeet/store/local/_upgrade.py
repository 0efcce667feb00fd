"""Catalogue migrations, each from one format to the next, inside one transaction of a writer."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress

from watersmeet.core.errors import IndexProblem
from watersmeet.store.local._checksums import seal_meta
from watersmeet.store.local._counts import expect, mark_embedded, recount, stores
from watersmeet.store.local._paths import Paths, home, rewrite_paths
from watersmeet.store.local._records import adopt
from watersmeet.store.local._schema import (
    BY_COLLECTION,
    BY_DATE,
    BY_KIND,
    COUNTS,
    FORMER_ROOTS,
    LEASES,
    RECORDS,
    UNSEEN,
)


def _with_prefixes(db: sqlite3.Connection, folder: str) -> None:
    """Format 1 to 2: roots have prefixes. Ids stay: with several roots, ids began with the root's name."""
    db.execute("ALTER TABLE roots ADD COLUMN prefix TEXT NOT NULL DEFAULT ''")
    db.execute("UPDATE roots SET prefix = name || '/' WHERE (SELECT count(*) FROM roots) > 1")
    db.execute(FORMER_ROOTS)
    rewrite_paths(db, Paths(None), Paths(home(folder)))
    fingerprint = db.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
    if fingerprint:
        built = json.dumps({**json.loads(fingerprint[0]), "format": 2}, sort_keys=True)
        db.execute("UPDATE meta SET value = ? WHERE key = 'fingerprint'", (built,))
        seal_meta(db)


def _with_counts(db: sqlite3.Connection, folder: str) -> None:
    """Format 2 to 3: roots have kinds, chunks have places, reservations have holders; records, counts and rows to embed
    have tables."""
    for table, columns in ADDED.items():
        for column in columns:
            db.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    for statement in (BY_DATE, BY_KIND, BY_COLLECTION, LEASES, UNSEEN, COUNTS, RECORDS):
        db.execute(statement)
    recount(db)
    adopt(db)
    _drop_former_state(folder)
    for store in stores(db):
        expect(db, store)
        mark_embedded(db, store, _embedded_rows(os.path.join(folder, store)))
    fingerprint = db.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
    if fingerprint:
        built = json.dumps({**json.loads(fingerprint[0]), "format": 3}, sort_keys=True)
        db.execute("UPDATE meta SET value = ? WHERE key = 'fingerprint'", (built,))
        seal_meta(db)


def _drop_former_state(folder: str) -> None:
    """Deletes state files whose names have changed, and which are made again."""
    for name in os.listdir(folder):
        if name == "asked" or (name.endswith(".npy") and "_vocabulary-" in name):
            with suppress(OSError):  # harmless if it stays
                os.unlink(os.path.join(folder, name))


ADDED = {
    "roots": ("kind TEXT NOT NULL DEFAULT 'folder'", "cursor TEXT NOT NULL DEFAULT ''"),
    "chunks": ("place TEXT NOT NULL DEFAULT ''",),
    "reserved": (
        "holder TEXT NOT NULL DEFAULT ''",
        "expires REAL NOT NULL DEFAULT 0",
        "fence INTEGER NOT NULL DEFAULT 0",
    ),
}


def _embedded_rows(folder: str) -> list[int]:
    """The rows of a vector store; none if it cannot be read, so that it is made again."""
    from watersmeet.store.local.postings import Postings
    from watersmeet.store.local.vectors import stored_rows

    try:
        rows = Postings(folder).reader().rows() if "vectors-sparse-" in folder else stored_rows(folder)
    except IndexProblem:
        return []
    return [int(row) for row in rows]


UPGRADES: dict[int, Callable[[sqlite3.Connection, str], None]] = {1: _with_prefixes, 2: _with_counts}
"""Migrations by the format that they start from."""
