"""A command as it is started, and what it draws on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

START = "import sys; sys.argv[0] = 'watersmeet'; from watersmeet.face.cli.main import main; main()"


def on_a_terminal(*arguments: str, cwd: Path, columns: int = 80) -> str:
    """What a command draws on a terminal so wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        cwd=cwd,
        env={**environ, "TERM": "xterm-256color", "WATERSMEET__INDEX__VECTORS": "false"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    drawn = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        drawn += part
    process.wait(timeout=30)
    os.close(ours)
    return drawn.decode("utf8")
