"""`watersmeet serve` as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from command import START


@contextmanager
def serving(folder: Path, environ: dict[str, str], *flags: str) -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", START, "serve", "--port", "0", "--json", *flags],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()
