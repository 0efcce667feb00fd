"""A source in memory, under `made:NAME`: slow and unreliable as a test needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import ClassVar

from watersmeet.core.indexing import Found, Gone, Offer, Same, Skipped, Source, SourceRoot, Whole
from watersmeet.core.options import option

WHEN = datetime(2020, 2, 2, tzinfo=UTC)


@dataclass
class Box:
    """What there is under an address, and how it is given."""

    things: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)  # of which it says so
    cursor: str = ""
    most: int | None = None  # it ends silently after so many items
    failure: Exception | None = None  # ... or so
    unreadable: tuple[str, ...] = ()
    sure: bool = True  # whether an equal stamp proves anything
    when: datetime = WHEN
    on_read: Callable[[], None] = lambda: None
    scans: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # cursor and stamps of each
    reads: list[str] = field(default_factory=list)


BOXES: dict[str, Box] = {}


@dataclass(frozen=True, slots=True)
class Made(Source):
    """Pages from a box."""

    schemes: ClassVar[tuple[str, ...]] = ("made:",)
    slow: ClassVar[bool] = True

    signature: str = option("", "what stands at the end of each page")

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        box = BOXES[root.uri]
        box.scans.append((root.cursor, dict(known)))
        for number, (name, text) in enumerate(list(box.things.items())):
            if number == box.most:
                break
            stamp = sha256(text.encode()).hexdigest()
            same = box.sure and known.get(name) == stamp
            yield Same(name) if same else Found(name, f"{root.uri}/{name}", stamp, box.when, ".md", box.sure)
        yield from map(Gone, box.gone)
        if box.failure:
            raise box.failure
        if box.most is None:
            yield Whole(box.cursor)

    def read(self, found: Found) -> bytes | Skipped:
        uri, _, name = found.uri.rpartition("/")
        box = BOXES[uri]
        box.reads.append(name)
        content = (box.things[name] + self.signature).encode()
        box.on_read()
        return Skipped(found.uri, "not today") if name in box.unreadable else content
