"""Plain text, and reStructuredText read as such."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from watersmeet.core.documents import Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.model import DocId
from watersmeet.parse._blocks import paragraphs
from watersmeet.parse._decode import decode

_MAX_TITLE_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Text(ParserOptions):
    """A plain text parser: one document a file, one block a paragraph."""

    reads: ClassVar[tuple[str, ...]] = ("text/plain", ".txt")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        blocks = tuple(paragraphs(text))
        name = PurePosixPath(found.name)
        underlined = _underlined(text) if name.suffix.lower() == ".rst" else ""
        yield Document(
            id=DocId(found.name),
            kind="document",
            title=underlined or name.stem,
            path=found.uri,
            sections=(Section((), 0, blocks[0].place, blocks),) if blocks else (),
            warnings=warnings,
        )


def _underlined(text: str) -> str:
    """Title of a reStructuredText page: its first line, if it is underlined."""
    lines = text.lstrip().split("\n", 3)[:3]
    if lines and _is_rule(lines[0]):
        del lines[0]
    if len(lines) < 2 or not _is_rule(lines[1]):
        return ""
    title = lines[0].strip()
    return title if len(title) <= _MAX_TITLE_LENGTH else ""


def _is_rule(line: str) -> bool:
    line = line.rstrip()
    return len(line) >= 2 and line[0] in "=-~^\"'`#*+.:_" and line == line[0] * len(line)
