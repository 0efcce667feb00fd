"""The files of a vector store, and the one small file that says how much of them counts.

A generation is five files that only grow: row numbers, codes, scales, exact vectors, drops. `commit.json` names
the generation and the length of each, is replaced whole, and carries its own check sum. What lies beyond those
lengths was never committed and is cut off by the next writer.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from watersmeet.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexProblem

PARTS = ("rows", "codes", "scales", "exact", "drops")
_FORMAT = 1
_COMMIT = "commit.json"
_HINT = "run `watersmeet sync --recreate`; the embedding cache makes that quick"


@dataclass(frozen=True, slots=True)
class Commit:
    """How much of which generation counts. `rows` and `drops` are numbers of entries."""

    dimension: int
    generation: int = 0
    rows: int = 0
    drops: int = 0

    def size(self, part: str) -> int:
        """How many bytes of this part count."""
        each = {"rows": 8, "codes": self.dimension, "scales": 8, "exact": 2 * self.dimension, "drops": 16}
        return each[part] * (self.drops if part == "drops" else self.rows)

    def file(self, folder: Path, part: str) -> Path:
        return folder / f"{self.generation:06d}.{part}"


def read_bytes(folder: Path) -> bytes:
    """The commit file as it is; empty if there is none yet."""
    try:
        return (folder / _COMMIT).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise problem(folder, error) from error


def decode(folder: Path, content: bytes, dimension: int) -> Commit:
    if not content:
        return Commit(dimension)
    try:
        wrapped = json.loads(content)
        body = wrapped["commit"]
        if wrapped["crc"] != _crc(body) or wrapped["format"] != _FORMAT:
            raise ValueError("the check sum or the format is another")
        return Commit(**body)
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{folder / _COMMIT} cannot be read: {error}", _HINT) from error


def publish(folder: Path, commit: Commit) -> None:
    """The commit point: from here on, and not before, this is the state of the store."""
    body = asdict(commit)
    temporary = folder / (_COMMIT + ".new")
    with temporary.open("wb") as file:
        file.write(json.dumps({"format": _FORMAT, "commit": body, "crc": _crc(body)}).encode())
        sync(file)
    temporary.replace(folder / _COMMIT)
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def open_tail(folder: Path, commit: Commit) -> dict[str, IO[bytes]]:
    """Every part of this generation, cut to what counts and open at its end."""
    files: dict[str, IO[bytes]] = {}
    try:
        for part in PARTS:
            path, size = commit.file(folder, part), commit.size(part)
            file = files[part] = path.open("r+b" if size else "w+b")
            if file.seek(0, os.SEEK_END) < size:
                raise IndexDamaged(f"{path} is shorter than was committed", _HINT)
            file.seek(size)
            file.truncate()
    except OSError as error:
        close_all(files)
        raise problem(folder, error) from error
    except IndexDamaged:
        close_all(files)
        raise
    return files


def close_all(files: dict[str, IO[bytes]]) -> None:
    """Close without minding what could not be written: it was not committed."""
    for file in files.values():
        try:
            file.close()
        except OSError:
            continue
    files.clear()


def retire(folder: Path, commit: Commit) -> None:
    """Note in a generation's files when it stopped counting."""
    for part in PARTS:
        if commit.file(folder, part).exists():
            os.utime(commit.file(folder, part))


def sweep(folder: Path, commit: Commit, grace: float) -> None:
    """Remove generations that have not counted for `grace` seconds: no reader opens them any more."""
    for path in folder.iterdir():
        name, _, part = path.name.partition(".")
        other = part in PARTS and name.isdigit() and int(name) != commit.generation
        if other and time.time() - path.stat().st_mtime >= grace:
            path.unlink(missing_ok=True)


def lock(folder: Path) -> IO[bytes]:
    """The right to write, until this file is closed or the process dies."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("ab")
    except OSError as error:
        raise problem(folder, error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if not isinstance(error, BlockingIOError):
            raise problem(folder, error) from error
        raise IndexBusy(f"{folder} is being written by another process", "wait until it is done") from error
    return file


def problem(folder: Path, error: OSError) -> IndexProblem:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"no room left for {folder}", "free some space and run the command again; nothing was lost"
        )
    return IndexDamaged(f"{error.filename or folder}: {error.strerror or error}", _HINT)


def _crc(body: object) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())
