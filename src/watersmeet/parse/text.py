"""Plain text, and files that are read as such: settings (TOML, INI) and TeX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from watersmeet.core.documents import Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.parse._blocks import paragraphs
from watersmeet.parse._decode import decode

_OWN = "watersmeet.toml"
"""The settings of watersmeet itself are no document."""


@dataclass(frozen=True, slots=True)
class Text(ParserOptions):
    """A plain text parser: one document a file, one block a paragraph."""

    reads: ClassVar[tuple[str, ...]] = ("text/plain", ".txt", ".tex", ".toml", ".ini", ".cfg")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        name = PurePosixPath(found.name)
        if name.name == _OWN:
            return
        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        blocks = tuple(paragraphs(text))
        yield Document(
            id=DocId(found.name),
            kind="document",
            title=name.stem,
            path=found.uri,
            sections=(Section((), 0, blocks[0].place, blocks),) if blocks else (),
            warnings=warnings,
        )
