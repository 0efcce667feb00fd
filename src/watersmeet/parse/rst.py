"""reStructuredText: headings, directives, literal blocks, tables and links, by a line scanner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.parse._decode import decode


@dataclass(frozen=True, slots=True)
class Rst(ParserOptions):
    """A parser of reStructuredText, with Sphinx's directives and roles: one document a file."""

    reads: ClassVar[tuple[str, ...]] = ("text/x-rst", ".rst", ".rest")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        from watersmeet.parse._rst import RstScanner

        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        yield RstScanner.scan(text).document(found, warnings)
