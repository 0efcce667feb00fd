"""Runs a command on a pseudo-terminal, and captures its output."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

from command import START

END = b"\x00end\x00"


def on_a_terminal(*arguments: str, cwd: Path, columns: int = 80) -> str:
    """What a command draws on a terminal so wide."""
    return answering("", *arguments, cwd=cwd, columns=columns)[1]


def answering(answer: str, *arguments: str, cwd: Path, columns: int = 80) -> tuple[int, str]:
    """How a command ends and what it draws on a terminal so wide, where somebody types an answer."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    os.write(ours, answer.encode())
    try:
        with subprocess.Popen(
            [sys.executable, "-c", START, *arguments],
            cwd=cwd,
            env={"WATERSMEET__INDEX__VECTORS": "false", **environ, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            drawn = _drawn_by(process, ours, theirs)
        return process.returncode, drawn.decode("utf8")
    finally:
        os.close(ours)
        os.close(theirs)


def _drawn_by(process: subprocess.Popen[bytes], ours: int, theirs: int) -> bytes:
    """All that a process draws.

    A terminal whose last writer has gone may drop what was not read yet. So it stays open here, and
    what comes before a mark that is written after the process has ended is what the process drew.
    """
    drawn = b""
    ended = False
    while not drawn.endswith(END):
        if select.select([ours], [], [], 0.05)[0]:
            drawn += os.read(ours, 65536)
        elif not ended and process.poll() is not None:
            os.write(theirs, END)
            ended = True
    return drawn.removesuffix(END)
