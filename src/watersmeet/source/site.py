"""The source for websites: a site below an address, or one page.

An address that ends in a slash or has no file ending is a site. One whose ending a parser reads (`.html`, `.pdf`,
`.md`), or that has a query, is one page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import splitext
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.errors import ConfigError, SourceProblem, nearest
from watersmeet.core.indexing import Found, Located, Offer, Skipped, Source, SourceRoot
from watersmeet.core.options import option

if TYPE_CHECKING:
    from watersmeet.source._content import CrawlOptions
    from watersmeet.source._fetcher import Fetcher

STRATEGIES = ("auto", "llms-full", "llms", "sitemap", "links")
_MAX_NAME = 60
_LISTS = ("llms-full.txt", "llms.txt", "sitemap.xml")
"""Files that stand for the site that they describe."""


@dataclass(frozen=True, slots=True)
class Site(Source):
    """Pages of a website, named by their path below its address."""

    schemes: ClassVar[tuple[str, ...]] = ("https:", "http:")
    slow: ClassVar[bool] = True

    endings: tuple[str, ...] = (".html", ".htm", ".md", ".txt", ".pdf")  # of files that a parser reads
    media_types: Collection[str] = frozenset({"text/html", "text/markdown", "text/plain"})  # that a parser reads
    public_only: bool = False  # open no private address, whatever `allowed` says
    strategy: str = option(
        "auto", "how pages are found: llms-full, llms, sitemap or links; auto: the first of these that leads to pages"
    )
    max_pages: int = option(500, "most pages of a site to read", least=1)
    max_depth: int = option(0, "most links between the first page and another; 0: any number", least=0)
    max_queries: int = option(50, "most pages of one path that differ by their parameters", least=0)
    max_bytes: int = option(20_000_000, "the largest page or file to read, in bytes, unpacked", least=1)
    max_bytes_total: int = option(1_000_000_000, "most bytes of a site to read in one sync, unpacked", least=1)
    timeout: float = option(30.0, "seconds for one page, from the first byte to the last", least=0.1)
    rate: float = option(5.0, "most requests a second; 0: any number", least=0)
    parallel: int = option(4, "most requests at once", least=1)
    robots: bool = option(True, "obey robots.txt; switch it off only for a site of your own", outside=True)
    misses: int = option(2, "after so many syncs in a row that find 404 or 410 a page is removed", least=1)
    allowed: list[str] = option(
        [], 'private machines that may be read, such as "localhost:8000"; only by your own commands', outside=True
    )
    _held: Any = field(default_factory=lambda: _held(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ConfigError(f"source.site.strategy cannot be {self.strategy!r}", nearest(self.strategy, STRATEGIES))

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        from dataclasses import replace

        from watersmeet.source._crawl import Crawl
        from watersmeet.source._single import single

        options, fetcher = self._options(), self._fetcher(root.uri)
        folder, _, last = root.uri.rpartition("/")
        if self._is_page(root.uri):
            return single(options, root, known, fetcher, self._held)
        if last in _LISTS:
            options, root = replace(options, strategy=splitext(last)[0]), replace(root, uri=f"{folder}/")
        return Crawl(options, root, known, fetcher, self._held).run()

    def read(self, found: Found) -> bytes | Skipped:
        from watersmeet.source._single import read_again

        if self._held.uri == found.uri:
            content: bytes = self._held.content
            return content
        return read_again(found, self._fetcher(found.uri))

    def locate(self, uri: str) -> Located:
        from watersmeet.source._urls import tidy

        place = tidy(uri)
        if not place:
            raise SourceProblem("not a web address", "give one that begins with http:// or https:// and has a host")
        if "@" in uri.split("/")[2]:
            raise SourceProblem("the address holds a password", "addresses are stored in the index: leave it out")
        if self._is_page(place):
            name = page_name(place)
            return Located(place, name, only=Found(name, place, "unread", media=splitext(name)[1].lower()))
        is_list = place.rpartition("/")[2] in _LISTS
        place = place if place.endswith("/") or is_list else f"{place}/"
        return Located(place, _site_name(place), spellings=(uri,))

    def _is_page(self, uri: str) -> bool:
        path, _, query = uri.partition("?")
        last = "/".join(path.split("/")[3:]).rpartition("/")[2]
        return bool(query) or (last not in _LISTS and splitext(last)[1].lower() in self.endings)

    def _options(self) -> CrawlOptions:
        from watersmeet.source._content import CrawlOptions

        return CrawlOptions(
            strategy=self.strategy,
            max_pages=self.max_pages,
            max_depth=self.max_depth,
            max_queries=self.max_queries,
            max_bytes=self.max_bytes,
            max_bytes_total=self.max_bytes_total,
            parallel=self.parallel,
            misses=self.misses,
            endings=self.endings,
            media_types=self.media_types,
        )

    def _fetcher(self, uri: str) -> Fetcher:
        """A client for one site. Of `allowed` only the machine of the site itself counts: no other may lead to one."""
        from watersmeet.common.addresses import Guard, parse
        from watersmeet.common.http import Client
        from watersmeet.source._fetcher import Fetcher

        target = parse(uri)
        own = {target.host, f"{target.host}:{target.port}"}
        allowed = () if self.public_only else tuple(name for name in self.allowed if name.lower() in own)
        client = Client(
            Guard(allowed), timeout=self.timeout, deadline=self.timeout, retries=0, max_bytes=self.max_bytes
        )
        return Fetcher(client, self.rate, self.robots)


def _held() -> Any:
    from watersmeet.source._content import Held  # lazy: only a sync of a site needs it

    return Held()


def page_name(uri: str) -> str:
    """The name of a single page: the last part of its address, with its query."""
    from urllib.parse import unquote

    path, mark, query = uri.partition("?")
    last = unquote(path.rpartition("/")[2]) or uri.split("/")[2]
    return f"{last}{mark}{query}"


def _site_name(place: str) -> str:
    """The name of a site: its host and path."""
    parts = [part for part in place.split("/")[2:] if part]
    return "-".join(parts).replace(":", "-")[:_MAX_NAME]
