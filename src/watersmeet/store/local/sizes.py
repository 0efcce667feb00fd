"""What an index takes on disk, part by part."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress

from watersmeet.core.errors import IndexProblem
from watersmeet.store.local._connect import FILE
from watersmeet.store.local.documents import DocumentsView

CATALOGUE, WORDS, OTHER = "catalogue", "words", "other"


def size_of(folder: str) -> int:
    return sum(sizes_of(folder).values())


def sizes_of(folder: str) -> dict[str, int]:
    """Bytes of the catalogue, of the words, of each tier's vectors and of the rest, the largest first; none is 0."""
    found: dict[str, int] = {}
    for path, _, names in os.walk(folder):
        store = os.path.relpath(path, folder).split(os.sep)[0]
        for name in names:
            with suppress(OSError):  # another process may be writing
                size = os.path.getsize(os.path.join(path, name))
                part = _part(name if store == os.curdir else store)
                found[part] = found.get(part, 0) + size
    return {part: size for part, size in sorted(found.items(), key=lambda pair: -pair[1]) if size}


def _part(name: str) -> str:
    """The part of a file in the index's folder, or of a store's folder."""
    if name.startswith(FILE):
        return CATALOGUE
    if name.startswith("text-"):
        return WORDS
    return name.split("-")[1] if name.startswith("vectors-") else OTHER


def catalogue_sizes(view: DocumentsView) -> dict[str, int]:
    """Bytes of the catalogue by table, with its indexes, the largest first; empty if this SQLite cannot tell."""
    sql = (
        "SELECT m.tbl_name, sum(s.pgsize) AS size FROM sqlite_master m JOIN dbstat s ON s.name = m.name"
        " WHERE m.rootpage > 0 GROUP BY m.tbl_name ORDER BY size DESC"
    )
    with suppress(sqlite3.Error, IndexProblem):
        return dict(view.query(sql))
    return {}
