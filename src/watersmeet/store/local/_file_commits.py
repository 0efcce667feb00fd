"""Commit files: one process writes, many processes read one consistent state.

The state is one small file, `commit.json`, replaced atomically and with its own checksum: data that it does not name is
not part of the store. The writer holds a lock; replaced files stay for a grace period.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from watersmeet.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexProblem
from watersmeet.core.files import private
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.locks import FileLock
from watersmeet.core.system import replace_path, sync_folder
from watersmeet.store.local._file_checks import FileStamp, check_intact, check_unmarked

HINT = "`watersmeet sync` makes it again; the embedding cache makes that quick"
_FORMAT = 1
COMMIT = "commit.json"
_MAX_ATTEMPTS = 5
MAX_COUNT = 1 << 63

C = TypeVar("C")
R = TypeVar("R")


@dataclass(slots=True)
class ReaderCache(Generic[R]):
    """A cache of one reader: the last state that was mapped, and the commit file that it belongs to."""

    _content: bytes = b""
    _reader: R | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self, folder: Path, mapped: Callable[[bytes, R | None], R]) -> R:
        """A reader of the committed state; the same object until something is committed. `mapped` gets the commit file
        and the last reader, whose unchanged files need not be mapped again."""
        with self._lock:
            check_unmarked(str(folder), HINT)
            for attempt in range(_MAX_ATTEMPTS):
                content = read_bytes(folder)
                if self._reader is not None and content == self._content:
                    return self._reader
                try:
                    reader = mapped(content, self._reader)
                except FileNotFoundError as error:  # replaced and deleted since: read the commit file again
                    if attempt + 1 == _MAX_ATTEMPTS or content == read_bytes(folder):
                        raise problem(folder, error) from error
                    continue
                self._content, self._reader = content, reader
                return reader
        raise IndexDamaged(f"{folder} changes faster than it can be read", "try again")

    def forget(self) -> None:
        with self._lock:
            self._content, self._reader = b"", None


def read_bytes(folder: Path) -> bytes:
    """The content of the commit file; empty if there is none yet."""
    try:
        return (folder / COMMIT).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise problem(folder, error) from error


def decode(folder: Path, content: bytes, make: Callable[..., C]) -> C:
    """Decodes a commit file; its entries are keyword arguments of `make`."""
    try:
        wrapped = json.loads(content)
        body = wrapped["commit"]
        if wrapped["crc"] != _crc(body) or wrapped["format"] != _FORMAT:
            raise ValueError("the checksum or the format differs")
        return make(**body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IndexDamaged(f"{folder / COMMIT} cannot be read: {error}", HINT) from error


def check_counts(*values: object) -> None:
    """Raise ValueError, which `decode` reports, for what is no count: a commit file may be forged."""
    if not all(type(value) is int and 0 <= value < MAX_COUNT for value in values):
        raise ValueError("a number in it is none")


def publish(folder: Path, body: dict[str, Any]) -> None:
    """The commit point: replaces the commit file, which makes the new state visible."""
    with replaced(folder / COMMIT) as file:
        file.write(json.dumps({"format": _FORMAT, "commit": body, "crc": _crc(body)}).encode())


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears whole and durable under its name when the block ends."""
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "wb", opener=private) as file:
        yield file
        sync(file)
    replace_path(temporary, path)
    sync_folder(path.parent)


def sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def sweep(folder: Path, is_old: Callable[[str, str], bool], grace: float) -> None:
    """Deletes files for which `is_old(stem, ending)` once `grace` seconds old, so that no reader opens them."""
    for path in folder.iterdir():
        name, _, part = path.name.partition(".")
        if name.isdigit() and is_old(name, part) and time.time() - path.stat().st_mtime >= grace:
            with suppress(PermissionError):  # Windows: a mapped file is deleted by a later sweep
                path.unlink(missing_ok=True)


def lock(folder: Path) -> FileLock:
    """The write lock, held until it is released or the process ends."""
    lock = FileLock(str(folder), "lock")
    if not lock.attempt():
        raise IndexBusy(f"{folder} is being written by another process", "wait until it is done")
    return lock


def problem(folder: Path, error: OSError) -> IndexProblem:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"no room left for {folder}", "free some space and run the command again; nothing was lost")
    return IndexDamaged(f"{error.filename or folder}: {error.strerror or error}", HINT)


def verify(path: Path, size: int, stamp: FileStamp | None, *, always: bool = False) -> None:
    """Raises if a file does not begin with the committed bytes. It is read if its time stamp changed, or `always`."""
    if size:
        check_intact(str(path), size, stamp, HINT, always=always)


def _crc(body: object) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())
