"""AsciiDoc: headings, attributes, delimited blocks, tables and cross references, by a line scanner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.parse._decode import decode


@dataclass(frozen=True, slots=True)
class Asciidoc(ParserOptions):
    """A parser of AsciiDoc: one document a file. Includes are links and are not expanded."""

    reads: ClassVar[tuple[str, ...]] = ("text/asciidoc", "text/x-asciidoc", ".adoc", ".asciidoc", ".asc")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        from watersmeet.parse._asciidoc import AsciidocScanner

        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        if text.startswith("-----BEGIN PGP"):
            yield Skipped(found.uri, "a key or a signature, not AsciiDoc")
            return
        yield AsciidocScanner.scan(text).document(found, warnings)
