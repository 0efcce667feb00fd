"""Access log of a server: a JSON line for each request, with its route and never its text.

What a caller sent appears nowhere: no query, no address of a document, no header but the token's name.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from watersmeet.core.errors import ConfigError
from watersmeet.core.files import private

STANDARD_OUTPUT = "-"


class Access(NamedTuple):
    """One request. `route` is the pattern of the route, so no id is in it; `token` the name of the caller's token."""

    method: str
    route: str
    status: int
    ms: float
    token: str
    bytes_in: int
    bytes_out: int


@dataclass(slots=True)
class AccessLog:
    """A file that is appended to, or standard output. A file that was moved away or deleted is opened anew, so a log
    can be rotated at any time. That a line cannot be written stops no request; it is said once."""

    path: str
    say: Callable[[str], None] = lambda _: None
    _file: int = -1
    _identity: tuple[int, int] = (0, 0)
    _failed: bool = field(default=False)

    def __post_init__(self) -> None:
        try:
            self._open()
        except OSError as error:
            raise ConfigError(
                f"cannot write the access log {self.path}: {error.strerror}", "name a file in a folder that exists"
            ) from error

    def write(self, access: Access) -> None:
        moment = time.time()
        line = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(moment))}.{int(moment % 1 * 1000):03}Z",
            **access._asdict(),
            "token": access.token or None,
        }
        try:
            self._open()
            os.write(self._file, json.dumps(line).encode() + b"\n")  # in one call: lines of processes do not mix
            self._failed = False
        except OSError as error:
            if not self._failed:
                self.say(f"the access log {self.path} cannot be written: {error.strerror}")
            self._failed = True

    def _open(self) -> None:
        """Open the file, unless it is open and still has its name."""
        if self.path == STANDARD_OUTPUT:
            self._file = sys.stdout.fileno() if self._file < 0 else self._file
            return
        try:
            found = os.stat(self.path)
            current = self._file >= 0 and (found.st_dev, found.st_ino) == self._identity
        except FileNotFoundError:
            current = False
        if current:
            return
        self.close()
        self._file = private(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0))
        found = os.fstat(self._file)
        self._identity = found.st_dev, found.st_ino

    def close(self) -> None:
        if self._file >= 0 and self.path != STANDARD_OUTPUT:
            os.close(self._file)
        self._file = -1

    def survive_hangup(self) -> None:
        """Ignore SIGHUP, which programs that rotate logs send: the next line goes to the new file anyway. A server on a
        terminal still ends with it."""
        if hasattr(signal, "SIGHUP") and not (sys.stdin and sys.stdin.isatty()):
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
