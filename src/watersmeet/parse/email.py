"""E-mail messages in files of their own (`.eml`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Email(ParserOptions):
    """A parser of one message: its text, else its HTML as text. Attachments are named, not read.

    The message id is an alias and the ids that it answers are links, so `related` shows the thread.
    """

    reads: ClassVar[tuple[str, ...]] = ("message/rfc822", ".eml")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        from watersmeet.parse._mail import message, opened

        read = message(found.name, found.uri, opened(content))
        yield Skipped(found.uri, read) if isinstance(read, str) else read
