"""Outline of a Markdown text by CommonMark: sections, links and tags.

Block text is the source itself, in whole lines: top-level blocks never share a line. So only the line numbers of a
block come from the parser, and a very long line can be passed to it truncated, without losing any text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

from watersmeet.common.markdown import markdown
from watersmeet.core.documents import Block, Link, Section
from watersmeet.core.limits import MAX_LINKS, MAX_TAGS
from watersmeet.core.place import Place
from watersmeet.parse._inline import body_tags, markdown_link, wiki_link

_MAX_LINE_LENGTH = 100_000
_MAX_HEADING_LENGTH = 500
_SHORTCODE = re.compile(r"\{\{[<%]\s*\w+\s+\"([^\"]*)\"\s*[%>]\}\}")
_BACKSLASH, _HASH = b"\\#"
_MANY_HEADINGS = 1000
_MAX_HEADINGS = 20_000
_MAX_LINES = 300_000
_MAX_EVENTS = 1_000_000
"""After so many headings, lines or parser events the rest is plain text: only generated files are so large."""
_DEEP_NESTING = 100
_INLINE = frozenset({"Emphasis", "Strong", "Strikethrough"})


class Outline(NamedTuple):
    sections: tuple[Section, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]
    warnings: tuple[str, ...]


class _Item(NamedTuple):
    """A top-level block: its byte range; level and text if it is a heading; level -1 if it is a rule."""

    start: int
    end: int
    level: int = 0
    text: str = ""


def outline(text: str, first: int = 1) -> Outline:
    """Outline of Markdown whose first line has the number `first`."""
    lines = text.split("\n", _MAX_LINES)
    tail = lines.pop() if len(lines) > _MAX_LINES else ""
    text = "\n".join((*lines, "")) if tail else text
    warnings: tuple[str, ...] = ()
    if len(text) > _MAX_LINE_LENGTH and max(map(len, lines)) > _MAX_LINE_LENGTH:
        long = [number for number, line in enumerate(lines, first) if len(line) > _MAX_LINE_LENGTH]
        text = "\n".join(line[:_MAX_LINE_LENGTH] for line in lines)
        reason = f"longer than {_MAX_LINE_LENGTH} characters, and its links and tags after that are not read"
        warnings = (f"line {long[0]} is {reason}" + (f" ({len(long)} such lines)" if len(long) > 1 else ""),)
    source = text.encode()
    reader = _Reader(source)
    reader.read(text)
    sections = _sections(reader.items, lines, source, first)
    if tail.strip():
        after = first + len(lines)
        sections = _with_tail(sections, Block(tail, Place((after, after + tail.count("\n")))))
        reader.rest = len(source) if reader.rest is None else reader.rest
    return Outline(sections, tuple(reader.links), tuple(reader.tags), (*warnings, *_warnings(reader, first)))


def _warnings(reader: _Reader, first: int) -> Iterator[str]:
    """Warnings about unusual files; they are read all the same."""
    headings = sum(item.level > 0 for item in reader.items)
    if reader.rest is not None:
        where = reader.source.count(b"\n", 0, reader.rest) + first
        yield f"too many headings, lines or marks ({headings} headings so far): line {where} and after is plain text"
    elif headings > _MANY_HEADINGS:
        yield f"{headings} headings: is this file generated?"
    if reader.deepest > _DEEP_NESTING:
        yield f"blocks nested {reader.deepest} deep; they are kept in one piece where they fit"


class _Reader:
    """Collects top-level blocks, links and tags from the parser events of one text."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.items: list[_Item] = []
        self.links: dict[Link, None] = {}
        self.tags: dict[str, None] = {}
        self.deepest = 0
        self.rest: int | None = None  # byte from which the text was not parsed
        self._start = 0  # of the current block
        self._open: list[tuple[str, dict[str, Any], list[str]]] = []  # enclosing links and images
        self._heading: list[str] | None = None
        self._prose: list[str] | None = None  # text that may hold tags

    def read(self, text: str) -> None:
        depth = events = headings = 0
        code = False
        for event, span in markdown().events_with_range(text):
            events += 1
            if events > _MAX_EVENTS or headings > _MAX_HEADINGS:
                self.rest = self._start if depth else span["start"]
                return
            if isinstance(event, str):
                if depth == 0:
                    self.items.append(_Item(span["start"], span["end"], -1))
                else:
                    self._put("\n")
                continue
            fields: dict[str, Any] = event  # type: ignore[assignment]  # a union of one-key dicts
            if "Text" in fields:
                if not code:
                    self._text(fields["Text"], span["start"])
            elif "Start" in fields:
                tag = fields["Start"]
                if depth == 0:
                    self._begin(tag, span["start"], span["end"])
                depth += 1
                if depth > self.deepest:
                    self.deepest = depth
                if type(tag) is dict:
                    code = self._enter(tag) or code
                elif tag not in _INLINE:
                    self._put("\n")
            elif "End" in fields:
                depth -= 1
                tag = fields["End"]
                if tag == "CodeBlock":
                    code = False
                elif tag in ("Link", "Image"):
                    self._leave()
                if depth == 0:
                    headings += self._heading is not None
                    self._finish(tag, span["start"], span["end"])
            elif "Code" in fields:
                self._code(fields["Code"])

    def _begin(self, tag: Any, start: int, end: int) -> None:
        self._start = start
        if type(tag) is dict and "Heading" in tag:
            self._heading = []
        if self.source.find(b"#", start, end) >= 0:
            self._prose = []

    def _finish(self, tag: Any, start: int, end: int) -> None:
        level, text = 0, ""
        if self._heading is not None:
            level = int(tag["Heading"][1])
            text = _heading_text("".join(self._heading))
            self._heading = None
        self.items.append(_Item(start, end, level, text))
        for tag in body_tags("".join(self._prose or ())):
            if len(self.tags) > MAX_TAGS:
                break
            self.tags[tag] = None
        self._prose = None

    def _enter(self, tag: dict[str, Any]) -> bool:
        """Handle the start of a container; true if it is code."""
        kind = next(iter(tag))
        if kind in ("Link", "Image"):
            self._open.append((kind, tag[kind], []))
        return kind == "CodeBlock"

    def _leave(self) -> None:
        kind, data, parts = self._open.pop()
        destination, sort = data["dest_url"], data["link_type"]
        link = None
        if type(sort) is dict:
            barred = sort["WikiLink"]["has_pothole"]
            alias = "".join(parts) if barred else ""
            written = destination.removesuffix("\\") if barred else destination  # `\|` inside a table
            link = wiki_link(written, alias, "wiki" if kind == "Link" else "embed")
        elif kind == "Link" and sort not in ("Autolink", "Email"):
            link = markdown_link(destination, "".join(parts))
        if link and len(self.links) <= MAX_LINKS:
            self.links[link] = None

    def _text(self, text: str, start: int) -> None:
        if self._open:
            self._open[-1][2].append(text)
        elif self._prose is not None:
            if text[0] == "#" and (self.source[start] != _HASH or self.source[start - 1] == _BACKSLASH):
                self._prose.append("\\")  # escaped, or an entity
            self._prose.append(text)
        if self._heading is not None:
            self._heading.append(text)

    def _code(self, text: str) -> None:
        if self._open:
            self._open[-1][2].append(text)
        elif self._prose is not None:
            self._prose.append("`")
        if self._heading is not None:
            self._heading.append(text)

    def _put(self, space: str) -> None:
        if self._prose is not None:
            self._prose.append(space)
        if self._heading is not None:
            self._heading.append(" ")
        if self._open:
            self._open[-1][2].append(" ")


def _heading_text(text: str) -> str:
    """Heading without its anchor `{#name}`; a Hugo shortcode such as `{{% heading "whatsnext" %}}` gives its text."""
    if "{" in text:
        text = _SHORTCODE.sub(r"\1", _without_anchor(text))
    return " ".join(text.split())


def _without_anchor(text: str) -> str:
    if text.rstrip().endswith("}"):
        before, _, anchor = text.rstrip()[:-1].rpartition("{")
        if anchor.lstrip().startswith(("#", ".")) and "}" not in anchor:
            return before
    return text


def _sections(items: list[_Item], lines: list[str], source: bytes, first: int) -> tuple[Section, ...]:
    sections: list[Section] = []
    path: list[tuple[int, str]] = []
    level, line, blocks = 0, first, list[Block]()
    for item, begin, end in _placed(items, lines, source):
        if item is None or item.level == 0:
            blocks.append(Block("\n".join(lines[begin : end + 1]), Place((first + begin, first + end))))
        elif item.level > 0:
            if level or blocks:
                sections.append(_section(path, level, line, blocks))
            while path and path[-1][0] >= item.level:
                path.pop()
            path.append((item.level, item.text[:_MAX_HEADING_LENGTH]))
            level, line, blocks = item.level, first + begin, []
            if len(item.text) > _MAX_HEADING_LENGTH:
                blocks.append(Block("\n".join(lines[begin : end + 1]), Place((first + begin, first + end))))
    if level or blocks:
        sections.append(_section(path, level, line, blocks))
    return tuple(sections)


def _with_tail(sections: tuple[Section, ...], tail: Block) -> tuple[Section, ...]:
    if not sections:
        return (Section((), 0, tail.place, (tail,)),)
    last = sections[-1]
    return (*sections[:-1], replace(last, blocks=(*last.blocks, tail)))


def _section(path: list[tuple[int, str]], level: int, line: int, blocks: list[Block]) -> Section:
    headings = tuple(text for _, text in path)
    return Section(headings, level, Place((line, line)) if level else blocks[0].place, tuple(blocks))


def _placed(items: list[_Item], lines: list[str], source: bytes) -> Iterator[tuple[_Item | None, int, int]]:
    """Blocks with their first and last line, from 0; also the lines between, such as link definitions."""
    starts = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))
    free = 0
    for item in items:
        begin = max(bisect_right(starts, item.start) - 1, free)
        end = min(bisect_right(starts, max(item.end - 1, item.start)) - 1, len(lines) - 1)
        while end > begin and not lines[end].strip():
            end -= 1
        yield from _between(lines, free, begin)
        if begin <= end and (item.level or lines[end].strip()):
            yield item, begin, end
        free = max(free, end + 1)
    yield from _between(lines, free, len(lines))


def _between(lines: list[str], begin: int, end: int) -> Iterator[tuple[None, int, int]]:
    while begin < end and not lines[begin].strip():
        begin += 1
    while begin < end and not lines[end - 1].strip():
        end -= 1
    if begin < end:
        yield None, begin, end - 1
