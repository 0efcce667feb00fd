"""What the scanners of rST, AsciiDoc and org share: sections from headings, code fences, Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from watersmeet.core.documents import Block, Document, Link, Section
from watersmeet.core.indexing import Found
from watersmeet.core.limits import MAX_ALIASES, MAX_LINKS, MAX_TAGS
from watersmeet.core.model import DocId
from watersmeet.core.place import Place
from watersmeet.parse._inline import distinct, limited, markdown_link
from watersmeet.parse._values import clean, created, modified

MAX_LINES = 300_000
MAX_HEADINGS = 20_000
"""Lines and headings of one file that are read as such; the text after them is plain: only generated files have so
many."""
_MAX_HEADING_LENGTH = 500
_MAX_BLOCKS = 100_000


class Page:
    """One document in the making. Lines are those of the file, from 1."""

    def __init__(self) -> None:
        self.title = ""
        self.fields: dict[str, Any] = {}
        self.tags: list[str] = []
        self.aliases: list[str] = []
        self.links: dict[Link, None] = {}
        self.warnings: list[str] = []
        self.headings = 0
        self._sections: list[Section] = []
        self._path: list[tuple[int, str]] = []
        self._place = Place()
        self._blocks: list[Block] = []
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether it has so many headings or blocks that the rest is to be plain text."""
        return self.headings >= MAX_HEADINGS or self._count >= _MAX_BLOCKS

    @property
    def empty(self) -> bool:
        """Whether it has neither a heading nor text yet."""
        return not self.headings and not self._count

    @property
    def has_blocks(self) -> bool:
        """Whether there is text under the last heading."""
        return bool(self._blocks)

    def heading(self, level: int, text: str, line: int) -> None:
        self._close()
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, text[:_MAX_HEADING_LENGTH]))
        self._place = Place((line, line))
        self.headings += 1

    def block(self, text: str, first: int, last: int) -> None:
        text = text.strip("\n")
        if text.strip():
            self._blocks.append(Block(text, Place((first, max(first, last)))))
            self._count += 1

    def link(self, destination: str, text: str = "") -> None:
        """A link to a file; URLs and anchors in the same file are none."""
        link = markdown_link(destination, text)
        if link:
            self.name_link(link)

    def name_link(self, link: Link) -> None:
        if len(self.links) <= MAX_LINKS:
            self.links[link] = None

    def _close(self) -> None:
        level = self._path[-1][0] if self._path else 0
        if level or self._blocks:
            place = self._place if level else self._blocks[0].place
            self._sections.append(Section(tuple(text for _, text in self._path), level, place, tuple(self._blocks)))
        self._blocks = []

    def document(self, found: Found, warnings: Sequence[str] = ()) -> Document:
        """The document; its title is its own, else the first heading if it has level 1, else the file's name."""
        self._close()
        first = next((section for section in self._sections if section.level), None)
        heading = first.headings[0] if first and first.level == 1 else ""
        tags, too_many_tags = limited(distinct(self.tags), MAX_TAGS, "tags")
        aliases, too_many_aliases = limited(dict.fromkeys(self.aliases), MAX_ALIASES, "aliases")
        links, too_many_links = limited(self.links, MAX_LINKS, "links")
        return Document(
            id=DocId(found.name),
            kind="document",
            title=" ".join(self.title.split())[:_MAX_HEADING_LENGTH] or heading or PurePosixPath(found.name).stem,
            path=found.uri,
            sections=tuple(self._sections),
            modified=modified(self.fields),
            created=created(self.fields),
            aliases=aliases,
            tags=tags,
            fields=self.fields,
            links=links,
            warnings=(*warnings, *self.warnings, *too_many_tags, *too_many_aliases, *too_many_links),
        )


class Scanner:
    """Goes through the lines of a text once. `read` handles what begins at a line and returns the line after it."""

    def __init__(self, text: str, page: Page) -> None:
        self.page = page
        text = text.expandtabs(8) if "\t" in text else text
        self.lines = text.split("\n", MAX_LINES)
        self.tail = self.lines.pop() if len(self.lines) > MAX_LINES else ""
        self._never: set[str] = set()

    @classmethod
    def scan(cls, text: str) -> Page:
        """The page of a text."""
        page = Page()
        cls(text, page).run()
        return page

    def read(self, at: int, line: str) -> int:
        raise NotImplementedError

    def run(self) -> None:
        at, end, lines = 0, len(self.lines), self.lines
        while at < end:
            line = lines[at]
            if not line or line.isspace():
                at += 1
            elif self.page.full:
                self.page.warnings.append(f"too many headings or blocks: line {at + 1} and after is plain text")
                self.page.block("\n".join(lines[at:]), at + 1, end)
                break
            else:
                at = self.read(at, line)
        if self.tail.strip():
            self.page.warnings.append(f"more than {end:,} lines: line {end + 1} and after is plain text")
            self.page.block(self.tail, end + 1, end + 1 + self.tail.rstrip("\n").count("\n"))

    def closing(self, mark: str, at: int) -> int | None:
        """The next line that is this mark, in lower case. A mark that was not found once is not looked for again."""
        if mark in self._never:
            return None
        for number in range(at, len(self.lines)):
            line = self.lines[number]
            if line and line.strip().lower() == mark:
                return number
        self._never.add(mark)
        return None


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def dedented(lines: Sequence[str]) -> list[str]:
    """Lines without their common indentation, and without blank lines at the ends."""
    margin = min((indent_of(line) for line in lines if line.strip()), default=0)
    cut = [line[margin:].rstrip() for line in lines]
    while cut and not cut[-1]:
        cut.pop()
    while cut and not cut[0]:
        del cut[0]
    return cut


def fence(lines: Sequence[str], language: str = "") -> str:
    """Lines as a code fence, longer than any fence in them."""
    mark = "```"
    while any(mark in line for line in lines):
        mark += "`"
        if len(mark) > 20:
            break
    return "\n".join((mark + language, *lines, mark))


def described(fields: Mapping[str, str]) -> dict[str, Any]:
    """Metadata of a page as fields: names in lower case, nothing empty."""
    return {clean(name.strip().casefold()): clean(value.strip()) for name, value in fields.items() if value.strip()}


def words(value: str) -> Iterable[str]:
    """A list that is separated by commas, else by blanks."""
    return filter(None, map(str.strip, value.split(",") if "," in value else value.split()))
