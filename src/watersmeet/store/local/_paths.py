"""Paths in the catalogue: relative to the folder that holds `.watersmeet` where they lie in it.

So a folder and its index can be moved or copied together. Paths elsewhere, and those of an index with another name, are
absolute. The catalogue remembers the base folder: an index that is renamed, or moved without its files, still refers to
that folder, and not to its new surroundings.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from watersmeet.core.index import FOLDER
from watersmeet.core.system import is_within, slashed, trimmed
from watersmeet.store.local._checksums import HASH, HEAD, head_is_sound, head_sum, packed

NAME = FOLDER
"""The folder name of an index that belongs to its parent folder."""
HERE = "@"
"""The prefix that stands for that folder in a stored path."""
BASE = "base"
"""The key in `meta` of the base folder when the index was last written."""
_SAMPLE = 50
_FILES = (
    "SELECT r.path, f.name, f.stamp FROM files f JOIN roots r ON r.id = f.root"
    f" WHERE substr(r.path, 1, 2) = '{HERE}/' AND f.stamp <> '' ORDER BY f.hash LIMIT {_SAMPLE}"
)


class Paths:
    """Converts paths on disk to stored paths and back. Without a base they are the same."""

    __slots__ = ("_trimmed", "away", "base")

    def __init__(self, base: str | None, away: bool = False) -> None:
        self.base = base
        self._trimmed = None if base is None else trimmed(base)
        self.away = away
        """Whether an index called `.watersmeet` was moved without its base folder."""

    def stored(self, path: str) -> str:
        """A path on disk as the catalogue stores it."""
        if self.base is None or self._trimmed is None or not is_within(path, self.base):
            return path
        return HERE + (slashed(path[len(self._trimmed) :]) if path != self.base else "/")

    def on_disk(self, stored: str) -> str:
        """A stored path as it is on disk now."""
        if self.base is None or self._trimmed is None or not stored.startswith(f"{HERE}/"):
            return stored
        return self._trimmed + stored[1:].replace("/", os.sep) if len(stored) > 2 else self.base


def home(folder: str) -> str | None:
    """The parent folder, if the index is called `.watersmeet`; else None."""
    place, name = os.path.split(os.path.realpath(folder))
    return place if name == NAME else None


def remembered(db: sqlite3.Connection) -> str | None:
    """The base folder when the index was last written, if it had one."""
    try:
        found = db.execute("SELECT value FROM meta WHERE key = ?", (BASE,)).fetchone()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # damaged: reading `meta` reports it, and the rest can be rescued
        return None
    return found[0] if found else None


def paths_of(folder: str, db: sqlite3.Connection) -> Paths:
    """The path conversion for an index where it lies now."""
    here, before = home(folder), remembered(db)
    if before is None or here == before:
        return Paths(here)
    if here is None:
        return Paths(before)
    came_along = _came_along(here, before, db.execute(_FILES).fetchall())
    return Paths(here) if came_along else Paths(before, away=True)


def _came_along(here: str, before: str, sample: Sequence[tuple[str, str, str]]) -> bool:
    """Whether an index was moved or copied together with its files, judged by a sample of them.

    Common names (`README.md`) exist anywhere, so sizes are compared too. A file may have been edited since.
    """
    if not sample:
        return not os.path.exists(before)
    sizes = [_size(stamp) for _, _, stamp in sample]
    ours = _sizes(Paths(here), sample)
    same = sum(map(int.__eq__, ours, sizes))
    same_before = sum(map(int.__eq__, _sizes(Paths(before), sample), sizes))
    if 2 * sum(size >= 0 for size in ours) >= len(sample):
        return same > 0 or not same_before
    return same > 0 and same >= same_before


def _size(stamp: str) -> int:
    """The file size at the start of a folder's stamp; -2 for stamps of other sources."""
    first = stamp.partition(" ")[0]
    return int(first) if first.isdecimal() else -2


def _sizes(paths: Paths, sample: Iterable[tuple[str, str, str]]) -> list[int]:
    """The size of each file on disk; -1 for a missing one."""
    found = []
    for stored, name, _ in sample:
        root = paths.on_disk(stored)
        is_file = os.path.basename(root) == name and os.path.isfile(root)
        try:
            found.append(os.stat(root if is_file else os.path.join(root, name)).st_size)
        except OSError:
            found.append(-1)
    return found


def rewrite_paths(db: sqlite3.Connection, old: Paths, new: Paths) -> None:
    """Rewrites all stored paths for another base. The files have not moved."""

    def written(stored: str) -> str:
        return new.stored(old.on_disk(stored))

    for table in ("roots", "former_roots"):
        for (path,) in db.execute(f"SELECT path FROM {table}").fetchall():
            if written(path) != path:
                db.execute(f"UPDATE OR IGNORE {table} SET path = ? WHERE path = ?", (written(path), path))
    change_paths(db, "file IS NOT NULL", (), written)


def change_paths(db: sqlite3.Connection, where: str, values: Sequence[Any], change: Callable[[str], str]) -> int:
    """Changes the paths of documents, and returns how many there are. Damaged ones are left alone."""
    rows = db.execute(f"SELECT id, hash, {HEAD.format('')} FROM documents WHERE {where}", values).fetchall()
    for key, hash, name, kind, title, path, modified in rows:
        if not head_is_sound(hash, name, kind, title, path, modified):
            continue
        new = change(path.decode())
        if new == path.decode():
            continue
        if len(hash) > HASH:
            total = head_sum(name, kind, title, new.encode(), modified)
            hash = packed(hash, total) + hash[HASH + 4 :]
        db.execute("UPDATE documents SET path = ?, hash = ? WHERE id = ?", (new, hash, key))
    return len(rows)
