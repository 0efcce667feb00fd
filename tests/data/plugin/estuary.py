"""A package that adds a parser, a source, a stage and a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, Offer, Skipped, Source, SourceRoot, Whole
from watersmeet.core.model import DocId, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.place import Place
from watersmeet.core.ports import PassageReader
from watersmeet.store.local.index import Local


@dataclass(frozen=True, slots=True)
class Tides:
    """Tables of tides: one document a file, one passage a line."""

    reads: ClassVar[tuple[str, ...]] = ("text/x-tides", ".tide")

    title: str = option("Tides at", "what stands before the place in the title")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        lines = content.decode("utf8").splitlines()
        blocks = tuple(Block(line, Place((number, number))) for number, line in enumerate(lines, 1) if line)
        title = f"{self.title} {Path(found.name).stem}"
        yield Document(DocId(found.name), "document", title, found.uri, (Section((), 0, Place((1, 1)), blocks),))


@dataclass(frozen=True, slots=True)
class Listing(Source):
    """The files that a text file names, one a line, if a parser reads them: `listing:FILE`."""

    schemes: ClassVar[tuple[str, ...]] = ("listing:",)

    endings: tuple[str, ...]

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        listing = Path(root.uri.removeprefix("listing:"))
        for name in listing.read_text("utf8").split():
            if name.endswith(self.endings):
                path = listing.absolute().parent / name
                yield Found(name, str(path), str(path.stat().st_mtime_ns))
        yield Whole()

    def read(self, found: Found) -> bytes | Skipped:
        return Path(found.uri).read_bytes()


@dataclass(frozen=True, slots=True)
class Ebb:
    """Passages in which a word stands sink."""

    view: PassageReader
    word: str = option("flood", "the word")
    factor: float = option(0.5, "what their score is multiplied by")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        passages = self.view.passages([hit.chunk for hit in ranking.hits])
        return ranking.multiplied(
            "ebb", {chunk: self.factor for chunk, one in passages.items() if self.word in one.text}
        )


@dataclass(frozen=True, slots=True)
class Pond:
    """An index that is named by an address: `pond://FOLDER`. What it keeps, it keeps as `local` does."""

    place: str
    make: Any
    cache: str

    def __getattr__(self, name: str) -> Any:
        return getattr(Local(self.place.removeprefix("pond://"), self.make, self.cache), name)
