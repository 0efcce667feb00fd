"""Files that no other parser reads, by their name only: pictures, archives, programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import NAME_ONLY, Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId


@dataclass(frozen=True, slots=True)
class Filename(ParserOptions):
    """One document a file, whose text is the file's path. `source.folder.other_files` offers such files."""

    reads: ClassVar[tuple[str, ...]] = (NAME_ONLY,)

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        yield Document(
            id=DocId(found.name),
            kind="file",
            title=PurePosixPath(found.name).name,
            path=found.uri,
            sections=(Section((), 0, blocks=(Block(found.name),)),),
        )
