"""Discovery of the pages of a site: where it begins, and which of its files name or hold its pages."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from watersmeet.common.http import Reply, Version
from watersmeet.core.errors import SourceProblem
from watersmeet.source._content import HTML, Stamp
from watersmeet.source._fetcher import Fetcher
from watersmeet.source._llms import FULL, LIST, links_of_list
from watersmeet.source._sitemap import MAX_ENTRIES, BadSitemap, Entry, read_sitemap
from watersmeet.source._urls import Scope, tidy

WAYS = (BY_FULL, BY_LIST, BY_SITEMAP, BY_LINKS) = ("llms-full", "llms", "sitemap", "links")
"""Ways to find the pages of a site, the best first."""
MAX_REDIRECTS = 5
MAX_SITEMAPS = 50
DISALLOWED = "robots.txt of the site disallows it"
ROBOTS_HINT = "for a site of your own: `robots = false` under [source.site] in your settings"


@dataclass(frozen=True, slots=True)
class Ways:
    """Ways to try. The one that was taken before must answer, or nothing is read: it may be a failure."""

    order: tuple[str, ...] = WAYS
    taken: str = ""


@dataclass(slots=True)
class Start:
    """The beginning of a site, after redirects. `reply` is None if nothing is there."""

    scope: Scope
    url: str
    reply: Reply | None = None


@dataclass(slots=True)
class Way:
    """A way to the pages of a site: what it names, or the file that holds them."""

    name: str
    entries: list[Entry] = field(default_factory=list)
    reply: Reply | None = None  # of llms-full.txt
    complete: bool = True  # whether all of its files could be read


def find_start(fetcher: Fetcher, url: str, known: Stamp) -> Start:
    """The first page of a site. A redirect to another host or path moves the whole site there."""
    start = Start(Scope.of(url), url)
    fetcher.read_robots(start.scope.origin)
    for _ in range(MAX_REDIRECTS + 1):
        if not fetcher.allows(start.url):
            raise SourceProblem(f"{start.url}: {DISALLOWED}", ROBOTS_HINT)
        reply = fetcher.request(start.url, known.version if start.url == (known.url or url) else None)
        if reply.status in (404, 410) and start.url == url and url.count("/") > 3 and url.endswith("/"):
            start.url = url.rstrip("/")
            continue
        if not reply.location:
            break
        _move(start, fetcher, reply.location)
    else:
        raise SourceProblem(f"{url} redirects more than {MAX_REDIRECTS} times", "check the address")
    if reply.status in (404, 410):
        return start
    if reply.status not in (200, 304):
        raise SourceProblem(reply.error, "check the address, or try again later")
    start.reply = reply
    return start


def _move(start: Start, fetcher: Fetcher, location: str) -> None:
    """Follow a redirect of the first page."""
    target = tidy(location)
    if not target:
        raise SourceProblem(f"{start.url} redirects to something that is not a web address", "check the address")
    if start.scope.page(target) is None:
        path = target.partition("?")[0]
        folder = path.rpartition("/")[0] if "." in path.rpartition("/")[2] else path
        origin = start.scope.origin
        start.scope = Scope.of(folder)
        if start.scope.origin != origin:
            fetcher.read_robots(start.scope.origin)
    start.url = target


def find_way(fetcher: Fetcher, start: Start, ways: Ways, version: Version | None, max_bytes: int) -> Way:
    """The first of these ways that leads to pages; its name is empty if none does."""
    base = start.scope.base
    for way in ways.order:
        sure = way == ways.taken
        if way == BY_FULL and (reply := _text_file(fetcher, base + FULL, sure, version)) is not None:
            return Way(way, reply=reply)
        if way == BY_LIST and (entries := _listed(fetcher, start, sure)):
            return Way(way, entries)
        if way == BY_SITEMAP:
            found = _Sitemaps(fetcher, start.scope, max_bytes)
            found.read(sure)
            if found.entries or (found.own and start.reply is None):
                return Way(way, list(found.entries.values()), complete=found.complete)
        if way == BY_LINKS and start.reply is not None:
            return Way(way)
    return Way("")


def _text_file(fetcher: Fetcher, url: str, sure: bool, version: Version | None = None) -> Reply | None:
    """A file of plain text or Markdown; None if there is none. `sure`: it was there before, so a failure is one."""
    if not fetcher.allows(url):
        return None
    try:
        reply = fetcher.request(url, version, follow=True)
    except SourceProblem:
        if sure:
            raise
        return None
    if sure and (reply.status >= 500 or reply.status == 429):
        raise SourceProblem(reply.error, "try again later")
    if reply.status == 304:
        return reply
    is_page = reply.headers.get_content_type() in HTML or reply.body.lstrip()[:1] == b"<"
    return reply if reply.status == 200 and reply.body.strip() and not is_page else None


def _listed(fetcher: Fetcher, start: Start, sure: bool) -> list[Entry]:
    """Pages of this site that its llms.txt names, or that of its host."""
    for url in dict.fromkeys((start.scope.base + LIST, f"{start.scope.origin}/{LIST}")):
        reply = _text_file(fetcher, url, sure)
        if reply is None:
            continue
        named = (tidy(link, reply.url) for link in links_of_list(reply.body.decode("utf-8", "replace")))
        entries = [Entry(link) for link in named if link and start.scope.page(link) is not None]
        if entries:
            return entries[:MAX_ENTRIES]
    return []


class _Sitemaps:
    """Reads sitemaps, and those that they name, up to limits."""

    def __init__(self, fetcher: Fetcher, scope: Scope, max_bytes: int) -> None:
        self._fetcher = fetcher
        self._scope = scope
        self._max_bytes = max_bytes
        self._seen: set[str] = set()
        self._room = MAX_ENTRIES
        self.entries: dict[str, Entry] = {}
        self.complete = True
        self.own = False  # whether the site has one below its own path, even if it is empty

    def read(self, sure: bool) -> None:
        """Read the sitemaps that robots.txt names, else the usual ones, until one names a page of this site."""
        own = self._scope.base + "sitemap.xml"
        named = [url for line in self._fetcher.robots.sitemaps if (url := tidy(line, self._scope.base))]
        for url in dict.fromkeys((*named, own, f"{self._scope.origin}/sitemap.xml")):
            is_read = self._read_all(url, sure)
            self.own = self.own or (is_read and url == own)
            if self.entries:
                return

    def _read_all(self, url: str, sure: bool) -> bool:
        """Read a sitemap with those that it names; False if it is none."""
        waiting, first = deque([url]), True
        while waiting:
            url = waiting.popleft()
            if url in self._seen or not self._fetcher.allows(url):
                continue
            if len(self._seen) >= MAX_SITEMAPS or self._room <= 0:
                self.complete = False
                break
            self._seen.add(url)
            further = self._read_one(url, sure)
            if further is None:
                if first:
                    return False
                self.complete = False
            waiting += [target for link in further or () if (target := tidy(link, url))]
            first = False
        return True

    def _read_one(self, url: str, sure: bool) -> list[str] | None:
        try:
            reply = self._fetcher.request(url, follow=True)
            if sure and (reply.status >= 500 or reply.status == 429):
                raise SourceProblem(reply.error, "try again later")
            found = read_sitemap(reply.body, self._max_bytes, self._room) if reply.status == 200 else None
        except SourceProblem:
            if sure:
                raise
            return None
        except BadSitemap:
            return None
        if found is None:
            return None
        self._room -= len(found.pages) + len(found.sitemaps)
        self.complete = self.complete and not found.cut
        for entry in found.pages:
            page = self._scope.page(entry.url)
            if page is not None:
                self.entries.setdefault(page.name, Entry(page.url, entry.lastmod))
        return found.sitemaps
