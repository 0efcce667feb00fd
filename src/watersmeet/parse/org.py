"""Org files: headings with tags, keywords, blocks, tables and links, by a line scanner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.parse._decode import decode


@dataclass(frozen=True, slots=True)
class Org(ParserOptions):
    """A parser of Org files: one document a file."""

    reads: ClassVar[tuple[str, ...]] = ("text/org", "text/x-org", ".org")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        from watersmeet.parse._org import OrgScanner

        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        yield OrgScanner.scan(text).document(found, warnings)
