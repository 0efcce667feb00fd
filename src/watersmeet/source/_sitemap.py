"""Sitemaps: the addresses of pages with their dates, or of further sitemaps."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from xml.parsers import expat

MAX_ENTRIES = 50_000
MAX_DEPTH = 10
MAX_TEXT = 5_000
_GZIP = b"\x1f\x8b"


class BadSitemap(Exception):
    """A file that is no sitemap, or one that is not safe to read."""


@dataclass(frozen=True, slots=True)
class Entry:
    url: str
    lastmod: str = ""


@dataclass(slots=True)
class Sitemap:
    pages: list[Entry] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)
    cut: bool = False  # whether it has more entries than are read


def read_sitemap(content: bytes, max_bytes: int, room: int = MAX_ENTRIES) -> Sitemap:
    """Read a sitemap (XML, plain text, either packed); `BadSitemap` if it is none, or declares entities."""
    if content.startswith(_GZIP):
        content = _unpacked(content, max_bytes)
    found = Sitemap()
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        _read_lines(content, found, room)
    else:
        _Reader(found, room).read(content)
    return found


def settled(lastmod: str, now: datetime) -> bool:
    """Whether a date of a sitemap is over: a page can change again on the day that it names."""
    try:
        date = datetime.fromisoformat(lastmod)
    except ValueError:
        return False
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return date + (timedelta(days=2) if len(lastmod) <= len("2026-01-01") else timedelta(minutes=2)) < now


def _unpacked(content: bytes, most: int) -> bytes:
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        text = decoder.decompress(content, most)
    except zlib.error as error:
        raise BadSitemap("it is not valid gzip") from error
    if not decoder.eof:
        raise BadSitemap(f"unpacked it has more than {most:,} bytes, or it is incomplete")
    return text


def _read_lines(content: bytes, found: Sitemap, room: int) -> None:
    """Read a sitemap of plain text: an address in each line."""
    lines = content.decode("utf-8-sig", "replace").split()
    if not lines or not all(line.startswith(("http://", "https://")) for line in lines[:20]):
        raise BadSitemap("it is neither XML nor a list of addresses")
    found.pages += [Entry(line) for line in lines[:room] if len(line) <= MAX_TEXT]
    found.cut = len(lines) > room


class _Enough(Exception):
    """There is no room for more entries."""


class _Reader:
    """Reads XML by its events: no tree, no entities, limited depth."""

    def __init__(self, found: Sitemap, room: int) -> None:
        self._found = found
        self._room = room
        self._path: list[str] = []
        self._text = ""
        self._values: dict[str, str] = {}

    def read(self, content: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse
        parser.buffer_text = True
        try:
            parser.Parse(content, True)
        except _Enough:
            self._found.cut = True
        except expat.ExpatError as error:
            raise BadSitemap(f"it is not valid XML: {error}") from error

    def _refuse(self, *_: object) -> None:
        raise BadSitemap("it declares entities")

    def _start(self, name: str, _: object) -> None:
        local = name.rpartition(" ")[2]  # without its namespace
        self._path.append(local)
        if len(self._path) == 1 and local not in ("urlset", "sitemapindex"):
            raise BadSitemap("it is no sitemap")
        if len(self._path) > MAX_DEPTH:
            raise BadSitemap("it is nested too deeply")
        if len(self._path) == 2:
            self._values = {}
        self._text = ""

    def _characters(self, text: str) -> None:
        if len(self._text) < MAX_TEXT:
            self._text += text

    def _end(self, _: str) -> None:
        local = self._path.pop()
        if len(self._path) == 2:
            self._values[local] = self._text.strip()
        elif len(self._path) == 1 and (url := self._values.get("loc", "")) and len(url) < MAX_TEXT:
            if len(self._found.pages) + len(self._found.sitemaps) >= self._room:
                raise _Enough
            if local == "sitemap":
                self._found.sitemaps.append(url)
            elif local == "url":
                self._found.pages.append(Entry(url, self._values.get("lastmod", "")[:40]))
