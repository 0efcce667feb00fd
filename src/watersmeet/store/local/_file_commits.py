"""How files that only one process writes become one state that many processes read.

The state is in one small file, `commit.json`, which is replaced whole and carries its own check sum: what it does
not name does not count. Whoever writes holds the lock; files that stopped counting stay for a grace period.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from watersmeet.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexProblem
from watersmeet.core.files import private
from watersmeet.core.locks import FileLock
from watersmeet.core.system import replace_path, sync_folder
from watersmeet.store.local._file_checks import FileStamp, is_intact, unmarked

HINT = "`watersmeet sync` makes it again; the embedding cache makes that quick"
_FORMAT = 1
COMMIT = "commit.json"
_ATTEMPTS = 5

C = TypeVar("C")
R = TypeVar("R")


@dataclass(slots=True)
class Opened(Generic[R]):
    """The last state that was mapped, and the commit file that it was mapped by."""

    _content: bytes = b""
    _reader: R | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self, folder: Path, mapped: Callable[[bytes], R]) -> R:
        """The committed state as of now; the same object as long as nothing was committed."""
        with self._lock:
            unmarked(str(folder), HINT)
            for attempt in range(_ATTEMPTS):
                content = read_bytes(folder)
                if self._reader is not None and content == self._content:
                    return self._reader
                try:
                    reader = mapped(content)
                except FileNotFoundError as error:  # replaced and swept since: look again
                    if attempt + 1 == _ATTEMPTS or content == read_bytes(folder):
                        raise problem(folder, error) from error
                    continue
                self._content, self._reader = content, reader
                return reader
        raise IndexDamaged(f"{folder} changes faster than it can be read", "try again")

    def forget(self) -> None:
        with self._lock:
            self._content, self._reader = b"", None


def read_bytes(folder: Path) -> bytes:
    """The commit file as it is; empty if there is none yet."""
    try:
        return (folder / COMMIT).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise problem(folder, error) from error


def decode(folder: Path, content: bytes, make: Callable[..., C]) -> C:
    """What the commit file says, given to `make` by name."""
    try:
        wrapped = json.loads(content)
        body = wrapped["commit"]
        if wrapped["crc"] != _crc(body) or wrapped["format"] != _FORMAT:
            raise ValueError("the check sum or the format is another")
        return make(**body)
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{folder / COMMIT} cannot be read: {error}", HINT) from error


def publish(folder: Path, body: dict[str, Any]) -> None:
    """The commit point: from here on, and not before, this is the state of the store."""
    temporary = folder / (COMMIT + ".new")
    with open(temporary, "wb", opener=private) as file:
        file.write(json.dumps({"format": _FORMAT, "commit": body, "crc": _crc(body)}).encode())
        sync(file)
    replace_path(temporary, folder / COMMIT)
    sync_folder(folder)


def sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def sweep(folder: Path, is_old: Callable[[str, str], bool], grace: float) -> None:
    """Remove files whose stem and ending `is_old` once they have been so for `grace` seconds: nobody opens them."""
    for path in folder.iterdir():
        name, _, part = path.name.partition(".")
        if name.isdigit() and is_old(name, part) and time.time() - path.stat().st_mtime >= grace:
            with suppress(PermissionError):  # where a file that is mapped cannot go, it does another time
                path.unlink(missing_ok=True)


def lock(folder: Path) -> FileLock:
    """The right to write, until it is released or the process dies."""
    held = FileLock(str(folder), "lock")
    if not held.attempt():
        raise IndexBusy(f"{folder} is being written by another process", "wait until it is done")
    return held


def problem(folder: Path, error: OSError) -> IndexProblem:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"no room left for {folder}", "free some space and run the command again; nothing was lost")
    return IndexDamaged(f"{error.filename or folder}: {error.strerror or error}", HINT)


def verify(path: Path, size: int, kept: FileStamp | None, *, always: bool = False) -> None:
    """Raise if the file does not begin with what was committed. It is read if it was touched since, or `always`."""
    if size:
        is_intact(str(path), size, kept, HINT, always=always)


def _crc(body: object) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())
