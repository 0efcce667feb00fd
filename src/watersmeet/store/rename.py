"""Documents under another name: their chunks, names and links follow, their rows stay."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping

from watersmeet.core.ids import chunk_id
from watersmeet.core.model import DocId
from watersmeet.core.names import ALIAS, link_key, names_of


def rename(db: sqlite3.Connection, names: Mapping[DocId, DocId]) -> None:
    """Inside the caller's transaction. What would be called like another document keeps its name."""
    find = "SELECT id FROM documents WHERE name = ?"
    taken = {new for new in names.values() if new not in names and db.execute(find, (new,)).fetchone()}
    renamed = {new: db.execute(find, (old,)).fetchone()[0] for old, new in names.items() if new not in taken}
    for key in renamed.values():  # out of the way first: the new name of one may be what another was called
        db.execute("UPDATE documents SET name = 'renamed ' || id WHERE id = ?", (key,))
        db.execute("UPDATE chunks SET id = 'renamed ' || row WHERE document = ?", (key,))
    for new, key in renamed.items():
        db.execute("UPDATE documents SET name = ? WHERE id = ?", (new, key))
        seen: Counter[str] = Counter()
        for row, headings in db.execute(
            "SELECT row, headings FROM chunks WHERE document = ? ORDER BY ordinal", (key,)
        ).fetchall():
            identity = chunk_id(new, tuple(json.loads(headings)), seen[headings])
            seen[headings] += 1
            db.execute("UPDATE chunks SET id = ? WHERE row = ?", (identity, row))
        aliases = [
            alias
            for (alias,) in db.execute("SELECT key FROM names WHERE document = ? AND rank = ?", (key, ALIAS)).fetchall()
        ]
        db.execute("DELETE FROM names WHERE document = ?", (key,))
        entries = [(name, key, rank) for name, rank in names_of(new, aliases).items()]
        db.executemany("INSERT OR IGNORE INTO names VALUES (?, ?, ?)", entries)
        links = db.execute("SELECT rowid, target, type FROM links WHERE document = ?", (key,)).fetchall()
        keys = [(link_key(new, target, type), row) for row, target, type in links]
        db.executemany("UPDATE links SET key = ? WHERE rowid = ?", keys)
