"""Reads every hostile file of tests/helpers/hostile_files.py with the real limits, and then all of them in one sync.

    python scripts/hostile.py [NAME...]

For each file: seconds, peak memory of the child process, and what became of it. It fails if a file takes longer than 15
seconds, if the child is above 1 GB, or if the sync does not find the one good note beside them.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers")]

from hostile_files import HOSTILE  # noqa: E402
from watersmeet import Engine  # noqa: E402
from watersmeet.core.documents import Document  # noqa: E402
from watersmeet.core.errors import ReaderFailed  # noqa: E402
from watersmeet.core.indexing import Found, Skipped  # noqa: E402
from watersmeet.engine.settings.settings import load  # noqa: E402
from watersmeet.engine.sync.formats import Format, Formats  # noqa: E402
from watersmeet.engine.sync.parser_process import IsolatedParser  # noqa: E402
from watersmeet.engine.sync.parsers import parse_safely  # noqa: E402

MAX_SECONDS = 15.0
MAX_MB = 1024
POLL_SECONDS = 0.02


class PeakMemory(threading.Thread):
    """Polls the peak memory of the child process of a parser."""

    def __init__(self, parser: object) -> None:
        super().__init__(daemon=True)
        self.parser = parser
        self.done = threading.Event()
        self.peak = 0

    def run(self) -> None:
        while not self.done.wait(POLL_SECONDS) and isinstance(self.parser, IsolatedParser):
            child = self.parser.process._child
            if child is None:
                continue
            try:
                status = Path(f"/proc/{child.pid}/status").read_text()
            except OSError:
                continue
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    self.peak = max(self.peak, int(line.split()[1]) // 1024)


def read(format: Format, name: str, content: bytes) -> tuple[float, int, str]:
    """Seconds, MB of the child, and what became of the file."""
    memory = PeakMemory(format.parser)
    memory.start()
    start = time.perf_counter()
    found = Found(name, f"/hostile/{name}", "1")
    outcome = "nothing"
    try:
        for item in parse_safely(format.parser.parse(found, content), partial(Skipped, found.uri)):
            if isinstance(item, Document):
                chunks = len(format.chunker.split(item))
                outcome = f"{chunks} chunks" + (f"; {item.warnings[0]}" if item.warnings else "")
            else:
                outcome = f"skipped: {item.reason}"
    except ReaderFailed as failure:
        outcome = f"skipped: {failure}"
    seconds = time.perf_counter() - start
    memory.done.set()
    memory.join()
    return seconds, memory.peak, outcome[:100]


def main() -> None:
    names = sys.argv[1:] or list(HOSTILE)
    failures = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "files"
        folder.mkdir()
        settings = load(start=place, environ={}, flags={"index": {"vectors": False}})
        print(f"| {'file':<18} | size | s | child MB | outcome |\n|---|--:|--:|--:|---|")
        for name in names:
            content = HOSTILE[name]()
            (folder / name).write_bytes(content)
            with Formats(settings) as formats:  # a child of its own for each, whose memory is its alone
                format = formats.of(Found(name, name, "1"))
                if format is None:
                    failures.append(f"{name}: no parser reads it")
                    continue
                seconds, peak, outcome = read(format, name, content)
            print(f"| {name:<18} | {len(content):,} | {seconds:.1f} | {peak or ''} | {outcome} |", flush=True)
            if seconds > MAX_SECONDS or peak > MAX_MB:
                failures.append(f"{name}: {seconds:.1f} s, {peak} MB")
        (folder / "good.md").write_text("The kingfisher is here.")
        start = time.perf_counter()
        with Engine(Path(place) / "index", settings) as engine:
            report = engine.sync([folder])
            found = [result.document for result in engine.search("kingfisher").results]
            print(f"one sync of all: {time.perf_counter() - start:.1f} s, {len(report.skipped)} skipped")
            if "good.md" not in found:
                failures.append(f"the good note was not found: {found}")
    print("\n".join(["failures:", *failures]) if failures else f"{len(names)} hostile files, no failure")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
