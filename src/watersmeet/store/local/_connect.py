"""Opening the catalogue's file, for reading or writing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from watersmeet.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexMismatch, IndexProblem, NoIndex
from watersmeet.core.files import can_write, private, refuse_read_only
from watersmeet.core.system import slashed
from watersmeet.store.local._wal import use_wal

FILE = "catalogue.db"
FORMAT = 3
"""`PRAGMA user_version`: raised with an upgrade in `_upgrade.py`."""
READABLE = frozenset({1, 2, FORMAT})
"""Formats that answer as they are. The next writer makes the newest of an older one."""
ANEW = "build it anew with `watersmeet sync PATH --recreate`; vectors come from the cache"
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
            raise IndexProblem(f"{path}: {text}", "check the permissions of the folder and of the file") from error
        raise IndexDamaged(f"{path}: {text}", ANEW) from error
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"{path}: {error}", ANEW) from error


def connect(folder: str, *, create: bool = False) -> sqlite3.Connection:
    """A connection in WAL mode; many may be open at once. Without `create` an index may be read-only, or older."""
    path = os.path.join(folder, FILE)
    if not create and not os.path.exists(path):
        raise NoIndex(f"there is no index in {folder}", "make one with `watersmeet sync PATH`")
    frozen = not create and is_read_only(folder)
    with guarded(path):
        if create and not os.path.exists(path):
            os.close(private(path, os.O_RDWR | os.O_CREAT))  # what SQLite puts beside it gets the same mode
        db = sqlite3.connect(
            address(path, still(path)) if frozen else path,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            uri=frozen,
        )
        with ExitStack() as undo:
            undo.callback(db.close)
            db.create_function("casefold", 1, _casefold, deterministic=True)  # SQLite's lower() knows ASCII only
            db.create_function("path_matches", 2, _path_matches, deterministic=True)
            if not frozen:
                use_wal(db, _PATIENCE)
            db.executescript("PRAGMA synchronous = FULL; PRAGMA mmap_size = 268435456")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in READABLE or (create and version != FORMAT):
                _upgrade(db, version, folder)
            undo.pop_all()
    return db


def is_read_only(folder: str) -> bool:
    """Whether an index can be searched and not changed: on a disk for reading only, in an image, of another user."""
    return not (can_write(folder) and can_write(os.path.join(folder, FILE)))


def still(path: str) -> str:
    """How SQLite opens a file that it must not write to.

    `immutable` needs no file beside it. Where there is a log of changes, its writer is at work or was copied at work:
    then the log must be read, too.
    """
    try:
        logged = os.path.getsize(path + "-wal") > 0
    except OSError:
        logged = False
    return "ro" if logged else "ro&immutable=1"


def address(path: str, mode: str) -> str:
    """A file as SQLite's URI."""
    path = slashed(path)
    path = path if path.startswith("/") or not os.path.isabs(path) else f"/{path}"  # a drive's letter comes first
    return f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode={mode}"


def _casefold(value: object) -> str:
    return str(value).casefold()


def _path_matches(name: str, globs: str) -> bool:
    from watersmeet.store.local._conditions import path_matches  # only where somebody filters by path

    return path_matches(name, globs)


def _upgrade(db: sqlite3.Connection, version: int, folder: str) -> None:
    """Make the tables, or make those of this format out of older ones: all at once, or not at all."""
    if version > FORMAT:
        raise IndexMismatch(
            f"{os.path.join(folder, FILE)} has format {version}; this version knows {FORMAT}",
            "upgrade watersmeet, or use another index",
        )
    if is_read_only(folder):
        raise refuse_read_only(folder, f"and it has the old format {version}")
    from watersmeet.store.local._schema import TABLES
    from watersmeet.store.local._upgrade import UPGRADES

    db.execute("BEGIN IMMEDIATE")
    version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have been quicker
    if version == 0:
        for statement in TABLES.split(";"):
            db.execute(statement)
    for older in range(version, FORMAT) if version else ():
        UPGRADES[older](db, folder)
    db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("COMMIT")
