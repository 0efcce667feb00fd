"""A package that adds a parser, a source and a stage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.model import DocId, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.pages import Block, Document, Section
from watersmeet.core.ports import Reading


@dataclass(frozen=True, slots=True)
class Tides:
    """Tables of tides: one document a file, one passage a line."""

    reads: ClassVar[tuple[str, ...]] = ("text/x-tides", ".tide")

    title: str = option("Tides at", "what stands before the place in the title")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        lines = content.decode("utf8").splitlines()
        blocks = tuple(Block(line, number, number) for number, line in enumerate(lines, 1) if line)
        title = f"{self.title} {Path(found.name).stem}"
        yield Document(DocId(found.name), "document", title, found.path, (Section((), 0, 1, blocks),))


@dataclass(frozen=True, slots=True)
class Listing:
    """The files that a text file names, one a line, if a parser reads them."""

    endings: tuple[str, ...]

    def scan(self, root: str) -> Iterator[Found | Skipped]:
        for name in Path(root).read_text("utf8").split():
            if name.endswith(self.endings):
                path = os.path.join(os.path.dirname(root), name)
                seen = os.stat(path)
                yield Found(name, path, (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino), seen.st_mtime)

    def read(self, found: Found) -> bytes | Skipped:
        return Path(found.path).read_bytes()


@dataclass(frozen=True, slots=True)
class Ebb:
    """Passages in which a word stands sink."""

    view: Reading
    word: str = option("flood", "the word")
    factor: float = option(0.5, "what their score is multiplied by")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        passages = self.view.passages([hit.chunk for hit in ranking.hits])
        return ranking.multiplied(
            "ebb", {chunk: self.factor for chunk, one in passages.items() if self.word in one.text}
        )
