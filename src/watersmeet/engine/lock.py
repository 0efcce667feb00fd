"""One writer at a time, across processes; whoever has to wait is told for whom."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from watersmeet.core.errors import IndexBusy
from watersmeet.core.files import FOLDER_MODE, tighten
from watersmeet.engine.settings import cache_folder
from watersmeet.store.local._lockfile import acquire, open_lock

FILE = "writer.lock"
OURS = (
    "catalogue.db",
    "text-",
    "vectors-",
    "concept_vocabulary",
    "private_vocabulary",
    "calibration.",
    "searched.jsonl",
    "asked",
    "embed_first",
    "deepen-",
)
"""How the files and folders of an index begin; also with a dot before it, while they are being written."""


@contextmanager
def writer_lock(folder: str, wait: float, name: str = FILE) -> Iterator[None]:
    """Hold the index for writing. The system releases it when the process ends, however it ends."""
    path = os.path.join(folder, name)
    end = time.monotonic() + wait
    with open_lock(path) as file:
        if not acquire(file, end):
            raise _busy(path, folder, wait)
        file.truncate(0)
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.time(),
            "command": _command(),
        }
        with suppress(OSError):  # a full disk: the lock holds all the same, only unsigned
            file.write(json.dumps(holder).encode())
        try:
            yield
        finally:
            file.truncate(0)


def tighten_index(folder: str) -> None:
    """Nobody else reads an index. What else lies in its folder is left alone, and then so is the folder."""
    tighten(
        folder, lambda name: name in (".gitignore", "dataset.json", FILE) or name.removeprefix(".").startswith(OURS)
    )
    cache = cache_folder()
    if os.path.abspath(folder).startswith(cache + "/") and os.stat(cache).st_uid == os.geteuid():
        os.chmod(cache, FOLDER_MODE)


def _command() -> str:
    return " ".join([os.path.basename(sys.argv[0] or "python"), *sys.argv[1:3]])[:80]


def holder_of(path: str) -> str:
    """Who holds the lock in this file, as far as it says."""
    try:
        with open(path, encoding="utf8") as file:
            holder = json.load(file)
        since = datetime.fromtimestamp(holder["since"]).strftime("%H:%M:%S")
        return f"process {holder['pid']} on {holder['host']} (`{holder['command']}`, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _busy(path: str, folder: str, wait: float) -> IndexBusy:
    return IndexBusy(
        f"{holder_of(path)} is writing to {folder}",
        f"waited {wait:g} s; try again when it is done, or raise writer.lock_seconds. Searching works meanwhile",
    )
