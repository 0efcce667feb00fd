"""Opening the catalogue's file, for reading or writing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from watersmeet.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexMismatch, IndexProblem, NoIndex
from watersmeet.store._wal import use_wal

FILE = "catalogue.db"
FORMAT = 1
"""`PRAGMA user_version`: raised with a migration, or with the old number added to REBUILD."""
_PATIENCE = 10.0  # seconds


@contextmanager
def guarded(path: str) -> Iterator[None]:
    """SQLite's complaints, said so that the user can act on them."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "disk is full" in text or "disk I/O" in text:
            raise DiskFull(f"{path}: {text}", "make room and run the same command again; nothing was lost") from error
        if "locked" in text:
            raise IndexBusy(f"{path}: {text}", "another process is busy with it; try again") from error
        if "unable to open" in text or "readonly" in text:
            hint = "check the folder's permissions; it must be writable even to be read: copy it if its disk is not"
            raise IndexProblem(f"{path}: {text}", hint) from error
        raise
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise IndexDamaged(f"{path}: {error}", "build it anew with `watersmeet sync --recreate`") from error


def connect(folder: str, *, create: bool = False) -> sqlite3.Connection:
    """A connection in WAL mode, migrated; many may be open at once."""
    path = os.path.join(folder, FILE)
    if not create and not os.path.exists(path):
        raise NoIndex(f"there is no index in {folder}", "make one with `watersmeet sync PATH`")
    with guarded(path):
        db = sqlite3.connect(
            path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        with ExitStack() as undo:
            undo.callback(db.close)
            db.create_function("casefold", 1, _casefold, deterministic=True)  # SQLite's lower() knows ASCII only
            use_wal(db, _PATIENCE)
            db.executescript("PRAGMA synchronous = FULL; PRAGMA mmap_size = 268435456")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version != FORMAT:
                _migrate(db, version, path)
            undo.pop_all()
    return db


def _casefold(value: object) -> str:
    return str(value).casefold()


def _migrate(db: sqlite3.Connection, version: int, path: str) -> None:
    from watersmeet.store._schema import MIGRATIONS, REBUILD, TABLES

    if version > FORMAT:
        raise IndexMismatch(
            f"{path} has format {version}; this version knows {FORMAT}",
            "upgrade watersmeet, or use another index",
        )
    if version in REBUILD:
        raise IndexMismatch(f"{path} has the old format {version}", "build it anew with `watersmeet sync --recreate`")
    db.execute("BEGIN IMMEDIATE")
    version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have been quicker
    script = [TABLES] if version == 0 else [MIGRATIONS[v] for v in range(version, FORMAT)]
    for statement in ";".join(script).split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("COMMIT")
