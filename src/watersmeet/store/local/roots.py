"""The roots of an index, and the state of each file when it was last read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

from watersmeet.core.errors import IndexDamaged, IndexMismatch, NoIndex
from watersmeet.core.writing import FileState, KnownRoot, Root
from watersmeet.store.local._connect import FORMAT, connect, sqlite_errors
from watersmeet.store.local._paths import Paths, paths_of


def roots_in(db: sqlite3.Connection, paths: Paths) -> list[Root]:
    rows = db.execute("SELECT id, path, name, collection, prefix, kind, cursor FROM roots ORDER BY id")
    return [Root(id, paths.on_disk(path), *others) for id, path, *others in rows]


def files_in(db: sqlite3.Connection, root: int) -> dict[str, FileState]:
    rows = db.execute("SELECT id, name, stamp, hash, seen FROM files WHERE root = ?", (root,))
    return {state.name: state for state in (FileState(*row) for row in rows)}


def committed_roots(folder: str, predicate: Callable[[Root], bool]) -> dict[str, KnownRoot]:
    """The roots that satisfy `predicate`, by path, read without a lock.

    Empty if there is no index, if it cannot be read (opening it reports why), or if it has an older format, which had
    folders only.
    """
    try:
        with closing(connect(folder)) as db, sqlite_errors(folder):
            if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                return {}
            db.execute("BEGIN")
            meta = dict(db.execute("SELECT key, value FROM meta"))
            roots = [root for root in roots_in(db, paths_of(folder, db)) if predicate(root)]
            return {root.path: KnownRoot(root, files_in(db, root.id), meta) for root in roots}
    except (NoIndex, IndexDamaged, IndexMismatch):
        return {}
