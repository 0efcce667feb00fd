"""Backup of a local index while others write, and its restoration.

Writers pause for a moment: under the writer lock a snapshot of the catalogue is opened, and every file of the other
stores. From then on they go on; the open files keep what was committed. So a backup is a state that a crash at that
moment would have left, which every part of the store knows how to read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from watersmeet.core.errors import ConfigError, IndexBusy, IndexDamaged, IndexMismatch, IndexProblem
from watersmeet.core.files import make_private, private
from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, BackupPart, BackupSource
from watersmeet.core.locks import passing_lock, writable
from watersmeet.core.system import READ, replace_path, sync_folder
from watersmeet.store.local._connect import FILE, FORMAT, is_read_only, sqlite_errors, sqlite_uri
from watersmeet.store.local._file_commits import COMMIT
from watersmeet.store.local._frozen import TEXT_FOLDER, TIER_FOLDER, check_frozen, check_objects
from watersmeet.store.local._segments import META
from watersmeet.store.local._turns import busy_root, writer_lock
from watersmeet.store.local.health import check_files
from watersmeet.store.local.snapshot import LocalSnapshot, Make

if TYPE_CHECKING:
    from watersmeet.core.index import Check

STATE = "state/"
"""How the parts begin that are named states."""
COMMIT_FILES = (COMMIT, META)
"""Files that name the committed files of a store."""
SQLITE = b"SQLite format 3\0"
_STORE_FILE = re.compile(rf"({TEXT_FOLDER}|{TIER_FOLDER})/\.?[A-Za-z0-9][\w.-]{{0,120}}")
_SKIPPED = re.compile(r"lock|.*\.lock|.*\.new|.*-wal|.*-shm|.*-journal|damaged")
_MAX_ATTEMPTS = 10
_BLOCK = 1 << 20
_SOUND = ("index", "catalogue", "text store", "stores")
"""Checks that must not fail; those of vectors end in "vectors"."""


@contextmanager
def back_up(folder: str, make: Make, scratch: str, wait: float) -> Iterator[BackupSource]:
    _refuse_damaged(check_files(folder, make), "run `watersmeet sync`, which repairs it, then back it up")
    with ExitStack() as stack:
        with nullcontext() if is_read_only(folder) else writer_lock(folder, wait):
            snapshot = stack.enter_context(closing(LocalSnapshot(folder, make)))
            stack.enter_context(snapshot.transaction())
            if snapshot.outdated:
                raise IndexProblem("the index has the format of an earlier version", "`watersmeet sync` upgrades it")
            facts = snapshot.facts()
            stores = [_Store(stack, folder, name, scratch) for name in _store_names(facts)]
        yield BackupSource(snapshot.statistics().documents, _parts(snapshot, stores, scratch))


def _parts(snapshot: LocalSnapshot, stores: list[_Store], scratch: str) -> Iterator[BackupPart]:
    path = os.path.join(scratch, FILE)
    snapshot.with_connection(partial(copy_database, to=path))
    forget_writers(path)
    yield from _file_part(FILE, path)
    for store in stores:
        yield from store.parts()


def _store_names(meta: Mapping[str, str]) -> list[str]:
    """The folders of the other stores, as the catalogue names them."""
    if not meta.get("text_folder"):
        return []
    tiers = [tier for key in (CURRENT_TIERS, NEXT_TIERS) for tier in json.loads(meta.get(key, "{}")).values()]
    return [meta["text_folder"], *(tier["folder"] for tier in tiers)]


class _Store:
    """The files of a store, open: what is committed now stays readable, whatever a writer does meanwhile."""

    def __init__(self, stack: ExitStack, folder: str, name: str, scratch: str) -> None:
        self._name, self._scratch = name, scratch
        self._folder = os.path.join(folder, name)
        self._files: list[tuple[str, BinaryIO]] = []
        self._commits: dict[str, bytes] = {}
        self._databases: list[tuple[str, sqlite3.Connection]] = []
        stack.callback(self._close)
        for _ in range(_MAX_ATTEMPTS):
            if self._open():
                return
            self._close()
        raise IndexBusy(f"{self._folder} changes faster than it can be read", "try again")

    def _open(self) -> bool:
        """Open all files; False if the committed ones changed meanwhile."""
        try:
            self._commits = {name: _read(self._folder, name) for name in COMMIT_FILES if self._has(name)}
            for name in sorted(os.listdir(self._folder)) if os.path.isdir(self._folder) else ():
                if name not in COMMIT_FILES and not _SKIPPED.fullmatch(name):
                    self._open_one(name)
            return all(_read(self._folder, name) == content for name, content in self._commits.items())
        except FileNotFoundError:
            return False

    def _has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._folder, name))

    def _open_one(self, name: str) -> None:
        path = os.path.join(self._folder, name)
        if not is_database(path):
            self._files.append((name, open(path, "rb")))  # noqa: SIM115 - closed by `_close`
            return
        database = sqlite3.connect(sqlite_uri(path, "ro"), uri=True, isolation_level=None, check_same_thread=False)
        self._databases.append((name, database))
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM sqlite_master").fetchall()  # the snapshot begins with the first read

    def _close(self) -> None:
        for _, file in self._files:
            file.close()
        for _, database in self._databases:
            database.close()
        self._files, self._databases = [], []

    def parts(self) -> Iterator[BackupPart]:
        for name, file in self._files:
            size = os.fstat(file.fileno()).st_size
            yield BackupPart(f"{self._name}/{name}", size, _Padded(file))
        for name, database in self._databases:
            path = os.path.join(self._scratch, name)
            with sqlite_errors(path):
                copy_database(database, path)
            yield from _file_part(f"{self._name}/{name}", path)
        for name, content in self._commits.items():
            yield BackupPart(f"{self._name}/{name}", len(content), BytesIO(content))


def is_database(path: str) -> bool:
    """Whether a file is a database of SQLite, with a log beside it."""
    with open(path, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE


@dataclass(frozen=True, slots=True)
class _Padded:
    """A file that ends in zeros if it becomes shorter while it is read: the next writer cuts off what was never
    committed, and nobody reads that part."""

    file: BinaryIO

    def read(self, size: int, /) -> bytes:
        return self.file.read(size).ljust(size, b"\0")


def _read(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def _file_part(name: str, path: str) -> Iterator[BackupPart]:
    """A temporary file as a part; it is deleted after that."""
    with open(path, "rb") as file:
        yield BackupPart(name, os.fstat(file.fileno()).st_size, file)
    os.unlink(path)


def copy_database(source: sqlite3.Connection, to: str) -> None:
    """Copy a database as the transaction of `source` sees it."""
    os.close(private(to, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    with closing(sqlite3.connect(to, isolation_level=None)) as target, sqlite_errors(to):
        source.backup(target)


def forget_writers(path: str) -> None:
    """Remove the leases of the writers of the original. Rows that they had reserved are reclaimed by the first writer
    of the restored index, since the other stores may hold them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db, sqlite_errors(path):
        db.execute("DELETE FROM leases")
        db.execute("UPDATE reserved SET expires = 0")


# ---------------------------------------------------------------- restoring


def restore(
    folder: str, make: Make, parts: Iterator[BackupPart], states: Collection[str], replace: bool, wait: float
) -> int:
    """Write the parts beside the folder, check them as a whole, then put them in its place."""
    folder = os.path.abspath(folder)
    above, name = os.path.split(folder)
    make_private(above)
    staging = os.path.join(above, f".{name}.restoring")
    with writable(above), passing_lock(f"{staging}.lock", wait), ExitStack() as undo:
        _check_place(folder, replace)
        shutil.rmtree(staging, ignore_errors=True)  # of a restoration that was killed
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        os.mkdir(staging, 0o700)
        for part in parts:
            _write(staging, part, states)
        documents = _check_restored(staging, make)
        _sync_tree(staging)
        _put_in_place(staging, folder, replace, wait)
        undo.pop_all()
    return documents


def _check_place(folder: str, replace: bool) -> None:
    if os.path.exists(os.path.join(folder, FILE)):
        if not replace:
            raise ConfigError(
                f"there is an index in {folder}", "restore it elsewhere with --index DIR, or add --replace"
            )
    elif os.path.isdir(folder) and any(name not in (".gitignore",) for name in os.listdir(folder)):
        raise ConfigError(f"{folder} is not empty, and has no index", "name a new or empty folder with --index DIR")


def _write(staging: str, part: BackupPart, states: Collection[str]) -> None:
    """Write a part. Its name comes from a stranger: only those of our own files are accepted."""
    is_state = part.name.startswith(STATE) and part.name.removeprefix(STATE) in states
    if not (is_state or part.name == FILE or _STORE_FILE.fullmatch(part.name)) or _SKIPPED.fullmatch(part.name):
        raise IndexDamaged(f"the backup has a part called {part.name[:100]!r}, which is none of an index", _OTHER)
    path = os.path.join(staging, part.name.removeprefix(STATE) if is_state else part.name)
    make_private(os.path.dirname(path))
    with open(path, "xb", opener=private) as file:
        while block := part.content.read(_BLOCK):
            file.write(block)


_OTHER = "restore another backup"


def _check_restored(staging: str, make: Make) -> int:
    """Check the restored files as a whole: tables that are ours, names that do not lead out, checksums everywhere."""
    path = os.path.join(staging, FILE)
    if not os.path.exists(path):
        raise IndexDamaged("the backup has no catalogue", _OTHER)
    with closing(sqlite3.connect(sqlite_uri(path, "ro"), uri=True)) as db, sqlite_errors(path):
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != FORMAT:
            raise IndexMismatch(
                f"the backup has format {version}, and this version reads {FORMAT}", "upgrade watersmeet"
            )
        check_objects(db, path)
        check_frozen(staging, db)  # which names the stores that it has
    _check_databases(staging)
    _refuse_damaged(check_files(staging, make), _OTHER)
    with closing(LocalSnapshot(staging, make)) as snapshot, snapshot.transaction():
        return snapshot.statistics().documents


def _check_databases(staging: str) -> None:
    """Raise if a database beside the catalogue has a view or a trigger, which would run in our statements."""
    for place, _, names in os.walk(staging):
        for path in (os.path.join(place, name) for name in names if place != staging):
            if is_database(path):
                with closing(sqlite3.connect(sqlite_uri(path, "ro"), uri=True)) as db, sqlite_errors(path):
                    check_objects(db, path, ours=False)


def _refuse_damaged(checks: list[Check], hint: str) -> None:
    for one in checks:
        if not one.ok and (one.name in _SOUND or one.name.endswith("vectors")):
            raise IndexDamaged(f"{one.name}: {one.detail}", hint)


def _sync_tree(folder: str) -> None:
    """Make all files durable."""
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb", opener=lambda path, flags: os.open(path, flags | READ)) as file:
                os.fsync(file.fileno())
        sync_folder(place)


def _put_in_place(staging: str, folder: str, replace: bool, wait: float) -> None:
    former = ""
    with ExitStack() as stack:
        if replace and os.path.exists(os.path.join(folder, FILE)):
            stack.enter_context(writer_lock(folder, wait))
            if busy_root(folder) is not None:
                raise IndexBusy(f"another process syncs {folder}", "wait until it is done")
            former = os.path.join(os.path.dirname(folder), f".{os.path.basename(folder)}.replaced")
            shutil.rmtree(former, ignore_errors=True)
            os.rename(folder, former)
        elif os.path.isdir(folder):
            shutil.rmtree(folder)  # empty but for .gitignore
        replace_path(staging, folder)
        sync_folder(os.path.dirname(folder))
    if former:
        shutil.rmtree(former, ignore_errors=True)
