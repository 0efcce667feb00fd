"""Mailboxes (`.mbox`): one document a message, read as a stream."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, ClassVar

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.spill import Spill

_MAX_MESSAGE = 20_000_000
"""Bytes of one message; the rest of a longer one is left out: attachments are not read anyway."""
_LINE = 1 << 16
_GIVE_UP = 100
_MAX_REASONS = 100
"""Messages that cannot be read and are reported one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class Mbox(ParserOptions):
    """A parser of mailboxes. The id is the file's name and the message id, so it stays when messages are added."""

    reads: ClassVar[tuple[str, ...]] = ("application/mbox", ".mbox")
    size: ClassVar[str] = "records"

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        return self.parse_stream(found, io.BytesIO(content))

    def parse_stream(self, found: Found, stream: BinaryIO) -> Iterator[Document | Skipped]:
        from watersmeet.parse._mail import message, opened

        stream.seek(0)
        if not stream.read(_LINE).lstrip().startswith(b"From "):
            yield Skipped(found.uri, "not a mailbox: its first line does not begin with `From `")
            return
        uses: Spill[int] = Spill()
        bad = good = 0
        for number, content in enumerate(_messages(stream), 1):
            mail = opened(content)
            name = mail.id or str(number)
            use = (uses.get(name) or 0) + 1
            uses[name] = use
            read = message(f"{found.name}#{name}" + (f"~{use}" if use > 1 else ""), found.uri, mail)
            if isinstance(read, Document):
                yield read
                good += 1
                continue
            bad += 1
            if bad <= _MAX_REASONS:
                yield Skipped(f"{found.uri}#{number}", read)
            if bad == _GIVE_UP and not good:
                yield Skipped(found.uri, f"no message among the first {bad}; the rest was not read")
                return
        if bad > _MAX_REASONS:
            yield Skipped(found.uri, f"{bad - _MAX_REASONS:,} more messages cannot be read")


def _messages(stream: BinaryIO) -> Iterator[bytes]:
    """Messages without their `From ` line. A line that begins with it after a blank line begins a message."""
    stream.seek(0)
    lines: list[bytes] = []
    size = 0
    blank = whole = True  # whether the line before is blank, and whether this piece begins a line
    started = False
    while line := stream.readline(_LINE):
        if whole and blank and line.startswith(b"From "):
            if started:
                yield b"".join(lines)
            lines, size, started = [], 0, True
        elif size < _MAX_MESSAGE:
            lines.append(
                line[1:] if whole and line.startswith(b">") and line.lstrip(b">").startswith(b"From ") else line
            )
            size += len(line)
        blank = whole and not line.strip()
        whole = line.endswith(b"\n")
    if started:
        yield b"".join(lines)
