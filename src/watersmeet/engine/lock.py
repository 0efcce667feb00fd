"""One writer at a time, across processes; whoever has to wait is told for whom."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from watersmeet.core.errors import IndexBusy

FILE = "writer.lock"


@contextmanager
def writer_lock(folder: str, wait: float) -> Iterator[None]:
    """Hold the index for writing. The system releases it when the process ends, however it ends."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, FILE)
    end = time.monotonic() + wait
    with open(path, "a+", encoding="utf8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise _busy(path, folder, wait) from None
                time.sleep(0.05)
        file.truncate(0)
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.time(),
            "command": _command(),
        }
        file.write(json.dumps(holder))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _command() -> str:
    return " ".join([os.path.basename(sys.argv[0] or "python"), *sys.argv[1:3]])[:80]


def _busy(path: str, folder: str, wait: float) -> IndexBusy:
    try:
        with open(path, encoding="utf8") as file:
            holder = json.load(file)
        since = datetime.fromtimestamp(holder["since"]).strftime("%H:%M:%S")
        who = f"process {holder['pid']} on {holder['host']} (`{holder['command']}`, since {since})"
    except (OSError, ValueError, KeyError, TypeError):
        who = "another process"
    return IndexBusy(
        f"{who} is writing to {folder}",
        f"waited {wait:g} s; try again when it is done, or raise writer.lock_seconds. Searching works meanwhile",
    )
