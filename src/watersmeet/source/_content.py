"""Content of a reply: its media type, its text, and the stamp by which it is recognised later."""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any

from watersmeet.common.http import Reply, Version

HTML = ("text/html", "application/xhtml+xml")
_GENERIC = ("", "text/plain", "application/octet-stream", "binary/octet-stream", "application/x-download")
_MAX_VALIDATOR = 300
_CODECS = (
    "iso8859",
    "cp",
    "koi8",
    "shift_jis",
    "euc",
    "gb",
    "big5",
    "utf-16",
    "utf-32",
    "mac-",
    "ascii",
    "iso2022",
    "hz",
)
"""Beginnings of the names of encodings; Python has codecs that are something else."""


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The settings of a site that decide what is read, and what a parser reads."""

    strategy: str
    max_pages: int
    max_depth: int
    max_queries: int
    max_bytes: int
    max_bytes_total: int
    parallel: int
    misses: int
    endings: tuple[str, ...]
    media_types: Collection[str]


@dataclass(slots=True)
class Held:
    """The content of the page that is being offered: it need not be requested again to be read."""

    uri: str = ""
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What is remembered of a page: hash, validators, date in the sitemap, address, and how often it was missing."""

    hash: str = ""
    etag: str = ""
    modified: str = ""
    lastmod: str = ""
    url: str = ""  # if the name does not say it
    misses: int = 0

    @classmethod
    def read(cls, text: str) -> Stamp:
        try:
            values: dict[str, Any] = json.loads(text)
            return cls(**values)
        except (ValueError, TypeError, RecursionError):
            return cls()

    def __str__(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value}, separators=(",", ":"))

    @property
    def version(self) -> Version:
        return Version(self.etag, self.modified)

    @property
    def present(self) -> Stamp:
        """The stamp of a page that is there again."""
        return replace(self, misses=0)

    @property
    def unversioned(self) -> Stamp:
        """The stamp of a page that the next crawl reads in full."""
        return replace(self, etag="", modified="", lastmod="")


def stamp_of(reply: Reply, url: str, lastmod: str) -> Stamp:
    etag, modified = (
        value if len(value) <= _MAX_VALIDATOR else "" for value in (reply.version.etag, reply.version.modified)
    )
    return Stamp(sha256(reply.body).hexdigest()[:32], etag, modified, lastmod, url)


def date_of(reply: Reply, lastmod: str) -> datetime | None:
    """When a page was changed, by the sitemap or by itself."""
    for text, read in ((lastmod, datetime.fromisoformat), (reply.version.modified, parsedate_to_datetime)):
        try:
            date = read(text)
        except (ValueError, OverflowError):
            continue
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None


def media_of(reply: Reply, ending: str, types: Collection[str]) -> str:
    """Media type or ending by which a parser is chosen; empty if none reads it. `ending`: that of the name, if a parser
    reads it."""
    stated = reply.headers.get_content_type().lower() if reply.headers.get("Content-Type") else ""
    if stated in _GENERIC:
        if ending:
            return ending
        head = reply.body[:200].lstrip().lower()
        if head.startswith((b"<!doctype html", b"<html")):
            return HTML[0]
        return "text/plain" if stated == "text/plain" else ""
    if stated in types:
        return stated
    return ending or ("text/plain" if stated.startswith("text/") and stated != "text/css" else "")


def text_of(reply: Reply) -> str:
    """Text of a page, to look for links."""
    return reply.body.decode(_codec(reply) or "utf-8", "replace")


def content_of(reply: Reply, media: str) -> bytes:
    """The body; text in UTF-8 with a byte order mark if the header names an encoding, since it counts more than what
    the page says of itself."""
    body, codec = reply.body, _codec(reply)
    if not codec or body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body
    if not (media.startswith("text/") or media in HTML or reply.headers.get_content_maintype() == "text"):
        return body
    if codec == "utf-8" and (media not in HTML or body.isascii()):
        return body
    try:
        return codecs.BOM_UTF8 + body.decode(codec).encode()
    except ValueError:
        return body


def _codec(reply: Reply) -> str:
    """The encoding in the header, if Python knows it as one."""
    stated = reply.headers.get_content_charset("")
    try:
        name = codecs.lookup(stated).name if stated else ""
    except (LookupError, ValueError):
        return ""
    if name in ("iso8859-1", "ascii"):
        return "cp1252"  # as browsers do
    return name if name == "utf-8" or name.startswith(_CODECS) else ""
