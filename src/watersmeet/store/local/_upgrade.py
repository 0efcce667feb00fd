"""From the catalogue of an earlier version to that of the next: inside one transaction, of a writer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from watersmeet.store.local._paths import Paths, home, rewrite_paths
from watersmeet.store.local._schema import FORMER_ROOTS
from watersmeet.store.local._sums import seal_meta


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


UPGRADES: dict[int, Callable[[sqlite3.Connection, str], None]] = {1: _with_prefixes}
"""By the format that there is; each makes the next one of it."""
