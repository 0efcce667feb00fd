"""Addresses of pages: one spelling for each page, which of them belong to a site, and which look like a trap."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from watersmeet.common.addresses import parse
from watersmeet.core.errors import NoReply

MAX_URL = 2_000
MAX_SEGMENTS = 20
MAX_REPEATS = 3
"""How often a path may repeat a segment: `/a/b/a/b/a/b/a/b/` comes from relative links that lead nowhere."""
MAX_PARAMETERS = 6
MAX_QUERY = 300
INDEX = "index"
"""Name of the page of the root itself."""

_TRACKING = frozenset(
    "gclid gclsrc dclid fbclid msclkid yclid igshid mc_cid mc_eid _ga _gl _hsenc _hsmi phpsessid jsessionid sessionid "
    "session_id".split()
)
"""Parameters that say where a reader came from or who it is, not which page is meant; also all `utm_…`."""
_INDEX_PAGE = re.compile(r"/(?:index(?:\.(?:html?|xhtml|php|aspx?))?|default\.(?:html?|aspx?))$", re.IGNORECASE)
_SESSION = re.compile(r";jsessionid=[^/?]{0,200}", re.IGNORECASE)
_DATED = re.compile(r"(?<!\d)(?:1[89]|2\d)\d\d(?:[-/_](?:0?[1-9]|1[0-2])|(?:0[1-9]|1[0-2])(?:[0-3]\d)?)(?!\d)")
_DIGITS = re.compile(r"\d+")
_SEGMENT_SAFE = "!$&'()*+,;=:@~"
_PATH_SAFE = _SEGMENT_SAFE + "/"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a site. `name` is its path below the root, the same for all spellings; `url` is one of these."""

    name: str
    url: str

    @property
    def path(self) -> str:
        return self.url.partition("?")[0]

    @property
    def pattern(self) -> str:
        """What addresses of a calendar have in common: the address with its digits replaced; empty without a date."""
        return _DIGITS.sub("0", self.path) if _DATED.search(self.path) else ""


def tidy(url: str, base: str = "") -> str:
    """A URL with one spelling for host, port, escapes, dots and parameters; empty if it is not a web address.

    Fragment, tracking parameters and user are left out.
    """
    try:
        joined = urljoin(base, url.strip()) if base else url.strip()
        parts = urlsplit(joined)
        target = parse(f"{parts.scheme}://{parts.netloc}/")
        path = _without_dots(_SESSION.sub("", parts.path))
        kept = sorted((key, value) for key, value in parse_qsl(parts.query, True) if not _is_tracking(key))
    except (NoReply, ValueError):  # also half a surrogate pair, which cannot be written
        return ""
    query = f"?{urlencode(kept, errors='replace')}" if kept else ""
    return f"{target.scheme}://{target.host_header}{path}{query}"


def _is_tracking(key: str) -> bool:
    return key.casefold() in _TRACKING or key.casefold().startswith("utm_")


def _without_dots(path: str) -> str:
    """A path in one spelling: without dots and empty parts, and with escapes only where they are needed."""
    kept: list[str] = []
    segments = [_escaped(segment) for segment in path.split("/")]
    for segment in segments[1:]:
        if segment == "..":
            kept = kept[:-1]
        elif segment not in ("", "."):
            kept.append(segment)
    slash = "/" if kept and segments[-1] in ("", ".", "..") else ""
    return f"/{'/'.join(kept)}{slash}"


def _escaped(segment: str) -> str:
    return quote(unquote(segment, errors="surrogateescape"), _SEGMENT_SAFE, errors="surrogateescape")


def is_trap(url: str) -> bool:
    """Whether an address is too long, too deep, repeats itself, or has too many parameters."""
    if len(url) > MAX_URL:
        return True
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.split("/") if segment]
    if len(segments) > MAX_SEGMENTS or any(count > MAX_REPEATS for count in Counter(segments).values()):
        return True
    return len(parts.query) > MAX_QUERY or parts.query.count("&") >= MAX_PARAMETERS


@dataclass(frozen=True, slots=True)
class Scope:
    """The pages of a site: those of one host below one path."""

    base: str  # ends in a slash

    @classmethod
    def of(cls, url: str) -> Scope:
        """The scope of an address: its path as a folder."""
        path = url.partition("?")[0]
        return cls(path if path.endswith("/") else f"{path}/")

    @property
    def origin(self) -> str:
        return "/".join(self.base.split("/", 3)[:3])

    def page(self, url: str, base: str = "") -> Page | None:
        """The page of a link; None if it is not of this site."""
        found = tidy(url, base)
        if not found:
            return None
        plain, _, query = self._same_scheme(found).partition("?")
        folder = plain if plain.endswith("/") else f"{plain}/"
        if not (plain.startswith(self.base) or folder == self.base):
            return None
        known = _INDEX_PAGE.sub("/", plain)
        path = known[len(self.base) :].rstrip("/") if len(known) > len(self.base) else ""
        name = _readable(path) or INDEX
        return Page(f"{name}?{query}" if query else name, f"{plain}?{query}" if query else plain)

    def url(self, name: str) -> str:
        """The likely address of a page, by its name."""
        if name == INDEX:
            return self.base
        path, mark, query = name.partition("?")
        return f"{self.base}{quote(path, _PATH_SAFE + '%')}{mark}{query}"

    def _same_scheme(self, url: str) -> str:
        """An address with the scheme of this site, if it is of the same host at the usual port."""
        if url.startswith(self.base) or urlsplit(url).port or urlsplit(self.base).port:
            return url
        own, other = self.origin, "/".join(url.split("/", 3)[:3])
        return own + url[len(other) :] if own.partition(":")[2] == other.partition(":")[2] else url


def _readable(path: str) -> str:
    """A path without escapes, if it can be read so and escaped again."""
    try:
        plain = unquote(path, errors="strict")
    except UnicodeDecodeError:
        return path
    return (
        plain
        if plain.isprintable() and "?" not in plain and "#" not in plain and quote(plain, _PATH_SAFE) == path
        else path
    )
