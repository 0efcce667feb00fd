"""From the catalogue of an earlier version to that of the next: inside one transaction, of a writer."""

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
    """From 1 to 2. Ids stay: of several roots, each had its name in front of the ids of its documents."""
    db.execute("ALTER TABLE roots ADD COLUMN prefix TEXT NOT NULL DEFAULT ''")
    db.execute("UPDATE roots SET prefix = name || '/' WHERE (SELECT count(*) FROM roots) > 1")
    db.execute(FORMER_ROOTS)
    rewrite_paths(db, Paths(None), Paths(home(folder)))
    known = db.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
    if known:
        built = json.dumps({**json.loads(known[0]), "format": 2}, sort_keys=True)
        db.execute("UPDATE meta SET value = ? WHERE key = 'fingerprint'", (built,))
        seal_meta(db)


def _with_counts(db: sqlite3.Connection, folder: str) -> None:
    """From 2 to 3: roots have kinds, chunks places, reservations holders, what is registered a table of its own; counts
    and unseen rows are kept up."""
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
        mark_embedded(db, store, _held(os.path.join(folder, store)))
    known = db.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
    if known:
        built = json.dumps({**json.loads(known[0]), "format": 3}, sort_keys=True)
        db.execute("UPDATE meta SET value = ? WHERE key = 'fingerprint'", (built,))
        seal_meta(db)


def _drop_former_state(folder: str) -> None:
    """What is kept under other names now, and is made again: rows to embed first, vectors of the vocabulary."""
    for name in os.listdir(folder):
        if name == "asked" or (name.endswith(".npy") and "_vocabulary-" in name):
            with suppress(OSError):  # it is only in the way
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


def _held(folder: str) -> list[int]:
    """The rows of a vector store; none of one that cannot be read, which is then made again."""
    from watersmeet.store.local.postings import Postings
    from watersmeet.store.local.vectors import held_rows

    try:
        rows = Postings(folder).reader().rows() if "vectors-sparse-" in folder else held_rows(folder)
    except IndexProblem:
        return []
    return [int(row) for row in rows]


UPGRADES: dict[int, Callable[[sqlite3.Connection, str], None]] = {1: _with_prefixes, 2: _with_counts}
"""By the format that there is; each makes the next one of it."""
