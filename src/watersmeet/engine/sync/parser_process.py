"""Isolated parsing: a child process reads files whose libraries may crash, hang or take all memory."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import watersmeet
from watersmeet.core.documents import Document
from watersmeet.core.errors import ReaderFailed
from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.engine.sync.document_json import NotADocument, decode
from watersmeet.engine.sync.parser_child import MAX_MEMORY, NO_MEMORY_EXIT, read_frame, write_frame

SECONDS = 10.0
SECONDS_PER_MB = 2.0
"""CPU time for one file."""
BUSY_FACTOR = 3
"""Clock time for one file, in multiples of its CPU time: other processes may use the cores."""
POLL_SECONDS = 0.25
END_SECONDS = 5.0
_SENT = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")
"""Signals that come from elsewhere: the kernel that is out of memory, or a person."""
CHILD_MODULE = "watersmeet.engine.sync.parser_child"
MAX_ANSWER = 64 << 20
"""Bytes of the documents of one file."""
_KEPT_VARIABLES = ("PATH", "PYTHONHOME", "VIRTUAL_ENV", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH")
_THREADS = {"MALLOC_ARENA_MAX": "2", "RAYON_NUM_THREADS": "1", "TOKIO_WORKER_THREADS": "1"}
"""Threads and their arenas reserve memory, which is limited."""


class _NoRetry(ReaderFailed):
    """Another child would need as much time, or give the same answer."""


@dataclass(slots=True)
class ParserProcess:
    """A child process that is started when it is first needed, and again after it ended."""

    _child: subprocess.Popen[bytes] | None = None
    _watch: _Watch | None = None

    def parse(self, name: str, settings: Mapping[str, Any], found: Found, content: bytes) -> list[Document | Skipped]:
        """The documents of a file, or `ReaderFailed`. If the child dies, another one tries once more: files before may
        have used up its memory."""
        seconds = SECONDS + SECONDS_PER_MB * len(content) / 1e6
        item = [found.name, found.uri, found.stamp, None, found.media]
        head = json.dumps({"parser": name, "settings": settings, "found": item, "seconds": seconds}).encode()
        for is_last in (False, True):
            started = time.monotonic()
            try:
                return self._exchange(head, content, seconds)
            except ReaderFailed as failure:
                self.close()
                seconds -= time.monotonic() - started
                if is_last or isinstance(failure, _NoRetry) or seconds < 1:
                    raise
        return []

    def _exchange(self, head: bytes, content: bytes, seconds: float) -> list[Document | Skipped]:
        try:
            child = self._child = self._child or _start()
        except OSError as error:
            raise ReaderFailed(f"its reader cannot be started: {error}", lasting=False) from error
        assert child.stdin is not None  # noqa: S101  # for mypy: both are pipes
        assert child.stdout is not None  # noqa: S101
        watch = self._watch = self._watch or _Watch(child)
        watch.deadline = time.monotonic() + BUSY_FACTOR * seconds
        items: list[Document | Skipped] = []
        room = MAX_ANSWER
        try:
            write_frame(child.stdin, head)
            write_frame(child.stdin, content)
            child.stdin.flush()
            while (payload := read_frame(child.stdout, room)) is not None:
                if not payload:
                    if watch.is_late:  # it was ended just now
                        self.close()
                    return items
                room -= len(payload)
                items.append(decode(payload))
        except OverflowError:
            raise _NoRetry(f"its text is larger than {MAX_ANSWER >> 20} MB", lasting=True) from None
        except NotADocument as problem:
            raise _NoRetry(str(problem), lasting=True) from problem
        except OSError:
            pass  # the pipe is broken: the child has ended
        finally:
            watch.deadline = math.inf
        raise _why(child, watch.is_late, seconds)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.ended.set()
        child, self._child, self._watch = self._child, None, None
        if child is not None:
            with suppress(OSError):
                child.kill()
            with suppress(OSError):
                child.communicate()


def _start() -> subprocess.Popen[bytes]:
    """Start the child. It gets no variables of others, which may hold keys, and does not look for modules in the
    working folder, which may hold files of strangers."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    own = os.path.dirname(os.path.dirname(os.path.abspath(watersmeet.__file__)))
    modules = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if os.path.basename(own) not in (
        "site-packages",
        "dist-packages",
    ):  # those are found anyway
        modules.append(own)
    return subprocess.Popen(  # noqa: S603  # our own module
        [sys.executable, "-P", "-m", CHILD_MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**kept, **_THREADS, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(modules)},
        cwd=os.path.abspath(os.sep),
    )


class _Watch(threading.Thread):
    """Ends a child that is not done at its deadline. One thread for all files: starting one costs more than reading a
    small file."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.deadline = math.inf
        self.is_late = False
        self.ended = threading.Event()
        self._child = child
        self.start()

    def run(self) -> None:
        while not self.ended.wait(POLL_SECONDS):
            if time.monotonic() > self.deadline:
                self.is_late = True
                with suppress(OSError):
                    self._child.kill()
                return


def _why(child: subprocess.Popen[bytes], is_late: bool, seconds: float) -> ReaderFailed:
    """Why the child ended."""
    try:
        code = child.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        code = child.wait()
    if is_late:
        return _NoRetry(f"its reader took longer than {BUSY_FACTOR * seconds:.0f} s", lasting=False)
    if hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU:
        return _NoRetry(f"its reader took longer than {seconds:.0f} s", lasting=True)
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return ReaderFailed(f"its reader crashed ({name})", lasting=name not in _SENT)
    if code == NO_MEMORY_EXIT:
        return ReaderFailed(f"its reader needs more than {MAX_MEMORY >> 30} GB of memory", lasting=True)
    return ReaderFailed(
        f"its reader ended with exit code {code}; `python -P -m {CHILD_MODULE} < /dev/null` shows why", lasting=False
    )


@dataclass(frozen=True, slots=True)
class IsolatedParser:
    """A parser that runs in the child process."""

    name: str
    settings: Mapping[str, Any]
    process: ParserProcess

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        return iter(self.process.parse(self.name, self.settings, found, content))
