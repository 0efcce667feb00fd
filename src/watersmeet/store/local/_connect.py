"""Opening the catalogue's file, for reading or writing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from watersmeet.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexMismatch, IndexProblem, NoIndex
from watersmeet.core.files import can_write, private, refuse_read_only
from watersmeet.core.system import slashed
from watersmeet.store.local._frozen import harden, is_frozen
from watersmeet.store.local._stored_text import add_functions
from watersmeet.store.local._wal import use_wal

FILE = "catalogue.db"
FORMAT = 3
"""`PRAGMA user_version`: raised with an upgrade in `_upgrade.py`."""
READABLE = frozenset({1, 2, FORMAT})
"""Formats that can be searched without an upgrade; the next writer upgrades them."""
RECREATE_HINT = "build it anew with `watersmeet sync PATH --recreate`; vectors come from the cache"
IMMUTABLE = "ro&immutable=1"
_BUSY_SECONDS = 10.0


@contextmanager
def sqlite_errors(path: str) -> Iterator[None]:
    """Turns SQLite errors into index errors with a hint."""
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
        raise IndexDamaged(f"{path}: {text}", RECREATE_HINT) from error
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"{path}: {error}", RECREATE_HINT) from error


def connect(folder: str, *, create: bool = False) -> sqlite3.Connection:
    """A connection to the catalogue in WAL mode. Without `create` the index may be read-only, or of an older format."""
    path = os.path.join(folder, FILE)
    if not create and not os.path.exists(path):
        raise NoIndex(f"there is no index in {folder}", "make one with `watersmeet sync PATH`")
    read_only = not create and is_read_only(folder)
    with sqlite_errors(path):
        if create and not os.path.exists(path):
            os.close(private(path, os.O_RDWR | os.O_CREAT))  # SQLite gives its WAL files the same mode
        db = sqlite3.connect(
            sqlite_uri(path, IMMUTABLE if is_frozen(folder) else read_only_mode(path)) if read_only else path,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            uri=read_only,
        )
        with ExitStack() as undo:
            undo.callback(db.close)
            db.create_function("casefold", 1, _casefold, deterministic=True)  # SQLite's lower() knows ASCII only
            db.create_function("path_matches", 2, _path_matches, deterministic=True)
            add_functions(db)
            if not read_only:
                use_wal(db, _BUSY_SECONDS)
            db.executescript("PRAGMA synchronous = FULL; PRAGMA mmap_size = 268435456")
            if read_only and is_frozen(folder):
                harden(db, path)
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in READABLE or (create and version != FORMAT):
                _upgrade(db, version, folder)
            undo.pop_all()
    return db


def is_read_only(folder: str) -> bool:
    """Whether an index cannot be written: a read-only disk or image, another user's files, or a frozen copy."""
    return not (can_write(folder) and can_write(os.path.join(folder, FILE))) or is_frozen(folder)


def read_only_mode(path: str) -> str:
    """The `mode` of SQLite's URI for a file that must not be written.

    `immutable` needs no WAL files. If there is a WAL, a writer is active or was copied while active, so the WAL must be
    read too.
    """
    try:
        logged = os.path.getsize(path + "-wal") > 0
    except OSError:
        logged = False
    return "ro" if logged else IMMUTABLE


def sqlite_uri(path: str, mode: str) -> str:
    """A file path as an SQLite URI."""
    path = slashed(path)
    path = path if path.startswith("/") or not os.path.isabs(path) else f"/{path}"  # a Windows drive letter
    return f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode={mode}"


def _casefold(value: object) -> str:
    return str(value).casefold()


def _path_matches(name: str, globs: str) -> bool:
    from watersmeet.store.local._conditions import path_matches  # loaded only for path filters

    return path_matches(name, globs)


def _upgrade(db: sqlite3.Connection, version: int, folder: str) -> None:
    """Creates the tables or upgrades older ones, in one transaction."""
    if version > FORMAT:
        raise IndexMismatch(
            f"{os.path.join(folder, FILE)} has format {version}; this version of watersmeet reads up to {FORMAT}",
            "upgrade watersmeet, or use another index",
        )
    if is_read_only(folder):
        raise refuse_read_only(folder, f"and it has the old format {version}")
    from watersmeet.store.local._schema import TABLES
    from watersmeet.store.local._upgrade import UPGRADES

    db.execute("BEGIN IMMEDIATE")
    version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have upgraded it already
    if version == 0:
        for statement in TABLES.split(";"):
            db.execute(statement)
    for older in range(version, FORMAT) if version else ():
        UPGRADES[older](db, folder)
    db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("COMMIT")
