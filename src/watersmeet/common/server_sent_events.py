"""Server-sent events: the events of a stream of bytes, however it is divided into blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_EVENT_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """A line or an event that is larger than the limit."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event; `name` is empty if the server gave none. Bytes that are not UTF-8 become replacement characters."""

    name: str
    data: str


def events(blocks: Iterable[bytes], most: int = MAX_EVENT_BYTES) -> Iterator[Event]:
    """Events in order. An event at the end counts even without the blank line that should end it."""
    name, data, size = "", list[str](), 0
    for line in _lines(blocks, most):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        size += len(line)
        if size > most:
            raise EventTooLarge
        if not line:
            if data:
                yield Event(name, "\n".join(data))
            name, data, size = "", [], 0
        elif field == b"data":
            data.append(value.decode(errors="replace"))
        elif field == b"event":
            name = value.decode(errors="replace")
    if data:
        yield Event(name, "\n".join(data))


def _lines(blocks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Lines without their ends, which are CR, LF or CRLF. Lines are divided before they are decoded, so a character
    that is spread over two blocks stays whole."""
    rest, ended_with_return, first = bytearray(), False, True
    for block in blocks:
        if ended_with_return and block:
            block, ended_with_return = block.removeprefix(b"\n"), False
        rest += block
        if len(rest) > most + len(block):
            raise EventTooLarge
        if b"\n" not in block and b"\r" not in block:
            continue
        ended_with_return = rest.endswith(b"\r")
        *lines, tail = bytes(rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            yield line.removeprefix(_BYTE_ORDER_MARK) if first else line
            first = False
        rest = bytearray(tail)
    if rest:
        yield bytes(rest.removeprefix(_BYTE_ORDER_MARK)) if first else bytes(rest)
