"""The child process that runs isolated parsers: `python -P -m watersmeet.engine.sync.parser_child`.

A file may crash a native library or make it take all memory, so none runs in the process that holds the index. The
child may use 1 GB of memory, writes no file, opens few, and has no network where the system lets it give that up.

Requests on standard input: a frame of JSON (parser, its settings, the item, seconds), and a frame with the content.
Answers on standard output: a frame for each document or reason, then an empty one. A frame is its length and its bytes.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from contextlib import suppress
from typing import IO, Any

from watersmeet.core.indexing import Found, Parser, Skipped

MAX_MEMORY = 1 << 30
MAX_OPEN_FILES = 64
NO_MEMORY_EXIT = 3
LENGTH = struct.Struct(">Q")
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
"""CLONE_NEWUSER and CLONE_NEWNET of Linux."""


def write_frame(stream: IO[bytes], payload: bytes) -> None:
    stream.write(LENGTH.pack(len(payload)))
    stream.write(payload)


def read_frame(stream: IO[bytes], limit: int) -> bytes | None:
    """The next frame; None at the end of the stream. `OverflowError` if it is longer than the limit."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    if length > limit:
        raise OverflowError(f"an answer of {length:,} bytes")
    payload = stream.read(length)
    return payload if len(payload) == length else None


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the sync, which closes the pipe
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)  # libraries may print, or read
    _give_up_network()
    _limit_resources()
    parsers: dict[bytes, Parser] = {}
    while (head := read_frame(requests, 1 << 20)) is not None:
        content = read_frame(requests, sys.maxsize)
        if content is None:
            return
        request = json.loads(head)
        _limit_cpu(request["seconds"])
        key = json.dumps([request["parser"], request["settings"]]).encode()
        is_sound = True
        try:
            if key not in parsers:
                parsers[key] = _build(request["parser"], request["settings"])
            is_sound = _answer(parsers[key], Found(*request["found"]), content, answers)
        except MemoryError:
            is_sound = False
        if not is_sound:
            os._exit(NO_MEMORY_EXIT)  # the sync starts another child
        write_frame(answers, b"")
        answers.flush()


def _build(name: str, settings: dict[str, Any]) -> Parser:
    from watersmeet.engine.components import build

    parser: Parser = build("parse", name, settings)
    return parser


def _answer(parser: Parser, found: Found, content: bytes, answers: IO[bytes]) -> bool:
    """Write the documents of a file. False if the memory did not suffice."""
    from watersmeet.engine.sync.document_json import encode
    from watersmeet.engine.sync.parsers import NO_MEMORY, parse_safely

    for item in parse_safely(parser.parse(found, content), lambda reason: Skipped(found.uri, reason)):
        if isinstance(item, Skipped) and item.reason == NO_MEMORY:
            return False
        write_frame(answers, encode(item))
    return True


def _give_up_network() -> None:
    """Enter a network namespace without any device; not every system allows it."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError, AttributeError):
        import ctypes

        unshare = ctypes.CDLL(None).unshare
        if unshare(_NEW_NETWORK):  # not root: in a user namespace, in which root could not read files of others
            unshare(_NEW_USER | _NEW_NETWORK)


def _limit_resources() -> None:
    with suppress(ImportError):  # Windows has no limits of this kind
        import resource

        for what, most in (
            (resource.RLIMIT_AS, MAX_MEMORY),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        ):
            with suppress(OSError, ValueError):
                resource.setrlimit(what, (most, most))


def _limit_cpu(seconds: float) -> None:
    """Let the system end this process after so many further seconds of CPU time."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
