"""Standard streams made safe: closed ones, encodings other than UTF-8, control characters from documents."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from watersmeet.core.bidi import BIDI_CONTROLS, escape

if TYPE_CHECKING:
    from rich.console import Console

_CONTROLS = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{BIDI_CONTROLS}]|\r(?!\n)")
_SIGNS = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_BREAKS = {ord(character): _SIGNS[ord(character)] for character in "\t\r\n"}


def visible(text: str) -> str:
    """Text with visible signs for control characters, so that a document cannot control the terminal."""
    return _CONTROLS.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    return escape(character) if character > "\xff" else _SIGNS.get(ord(character), "\ufffd")


def one_line(text: str) -> str:
    """The same for text that must stay on one line or in one tab-separated column."""
    return visible(text).translate(_BREAKS)


class Screen:
    """A stream that shows control characters instead of sending them; `stream` is the one below."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard() -> None:
    """Make the standard streams safe to use, even if the caller has closed them.

    A closed one is replaced, so that the next opened file does not get its descriptor: writing to standard output then
    fails, and writing to standard error is lost."""
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY), encoding="utf8")  # noqa: SIM115 - for as long as we run
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf8")  # noqa: SIM115 - as above
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf8")  # noqa: SIM115 - as above
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr] # it is a file's, here where a process starts
    sys.stdout, sys.stderr = cast(TextIO, Screen(sys.stdout)), cast(TextIO, Screen(sys.stderr))


def console(stderr: bool = False) -> Console:
    """A console for colours, which bypasses the filter; text from documents must go through `one_line` first."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=getattr(stream, "stream", stream), highlight=False)
