"""What an index covers, and the state in which each thing of it was last read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from watersmeet.core.errors import IndexDamaged, IndexMismatch, NoIndex
from watersmeet.core.writing import FileState, Root
from watersmeet.store.local._connect import FORMAT, connect, guarded
from watersmeet.store.local._paths import Paths, paths_of


def roots_in(db: sqlite3.Connection, paths: Paths) -> list[Root]:
    rows = db.execute("SELECT id, path, name, collection, prefix, kind, cursor FROM roots ORDER BY id")
    return [Root(id, paths.on_disk(path), *others) for id, path, *others in rows]


def files_in(db: sqlite3.Connection, root: int) -> dict[str, FileState]:
    rows = db.execute("SELECT id, name, stamp, hash, seen FROM files WHERE root = ?", (root,))
    return {state.name: state for state in (FileState(*row) for row in rows)}


@dataclass(frozen=True, slots=True)
class Committed:
    """A root as of the last commit."""

    root: Root
    files: dict[str, FileState]
    meta: dict[str, str]  # facts about the index


def committed_roots(folder: str, wanted: Callable[[Root], bool]) -> dict[str, Committed]:
    """Some of the roots, by their addresses: nobody need hold the index for that.

    Empty if there is no index, if it cannot be read (whoever opens it says why), or if it is of an older format, which
    knew folders only.
    """
    try:
        with closing(connect(folder)) as db, guarded(folder):
            if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                return {}
            db.execute("BEGIN")
            meta = dict(db.execute("SELECT key, value FROM meta"))
            roots = [root for root in roots_in(db, paths_of(folder, db)) if wanted(root)]
            return {root.path: Committed(root, files_in(db, root.id), meta) for root in roots}
    except (NoIndex, IndexDamaged, IndexMismatch):
        return {}
