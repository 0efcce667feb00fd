"""One crawl of a site: each page once, known pages by conditional requests, within limits.

Replies are taken in the order in which the pages were found, however many requests run at once, so that two crawls of
the same site give the same documents. Every page that was known before is reported, whatever happened to it: only
404 or 410 in several crawls in a row means that it is gone.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from posixpath import splitext
from typing import Any

from watersmeet.common.http import Reply
from watersmeet.core.errors import NoReply, SourceProblem
from watersmeet.core.indexing import Cut, Found, Gone, Note, Offer, Pending, Same, Skipped, SourceRoot, Whole
from watersmeet.source._content import HTML, CrawlOptions, Held, Stamp, content_of, date_of, media_of, stamp_of, text_of
from watersmeet.source._discovery import (
    BY_FULL,
    BY_LINKS,
    MAX_REDIRECTS,
    WAYS,
    Start,
    Way,
    Ways,
    find_start,
    find_way,
)
from watersmeet.source._fetcher import RETRIES, Fetcher, Later
from watersmeet.source._links import PageLinks, links_of
from watersmeet.source._llms import FULL, parts_of_full
from watersmeet.source._sitemap import settled
from watersmeet.source._urls import INDEX, Page, Scope, is_trap, tidy

LOOKAHEAD = 16
"""Replies that wait for an earlier one."""
MAX_WAITING = 20_000_000
"""Bytes of such replies."""
MAX_FAILURES = 20
"""Failed requests in a row after which a site counts as down."""
MAX_REMEMBERED = 500
"""Failed pages that the cursor remembers, so that the next crawl asks for them again; and as many that were missing or
equal to another page: the pages that link to them may answer 304 then."""
PAUSE_SECONDS = 86_400
"""A page that was too slow or too large is not requested again before: each time it takes as long as is allowed."""
MAX_CLAIMS = 10
"""Pages that may name the same other page as their canonical one. If more do, the site is wrong and they are read."""
MAX_DATED = 60
"""Pages whose addresses differ only in the numbers of a date: a calendar has no end."""
LEFT_OUT = frozenset(
    ".png .jpg .jpeg .gif .svg .webp .avif .ico .bmp .css .js .mjs .map .woff .woff2 .ttf .eot .mp3 .mp4 .webm .ogg "
    ".wav .mov .zip .gz .tgz .bz2 .xz .7z .tar .whl .exe .dmg .msi .deb .rpm .apk .iso .jar .bin .rss .atom".split()
)
"""Endings of links that are no pages."""
MAX_REQUESTS = 4
"""Requests for each page that may be read: others lead to redirects, copies and errors."""
MAX_ADDRESSES = 10
"""Addresses for each page that may be read that are remembered: a page can hold thousands of long links."""
DISALLOWED = "disallowed by robots.txt"
_TWIN = "same content as another page"
_ALIAS = "other spelling of a canonical page"
_WORDS = {
    BY_FULL: "all pages are in its llms-full.txt",
    "llms": "pages are those that its llms.txt names",
    "sitemap": "pages are those of its sitemap",
    BY_LINKS: "pages are those that links below its path lead to",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A page to request."""

    page: Page
    depth: int = 0
    lastmod: str = ""
    hops: int = 0
    failed_before: bool = False  # in the last crawl
    alone: bool = False  # to be read even if another page claims to be the same


@dataclass(slots=True)
class Crawl:
    options: CrawlOptions
    root: SourceRoot
    known: Mapping[str, str]
    fetcher: Fetcher
    held: Held
    stamps: dict[str, Stamp] = field(init=False)
    hashes: set[str] = field(init=False)  # of all known pages
    limit: int = field(init=False)
    scope: Scope = field(init=False)
    way: Way = field(init=False)
    cut: str = ""  # why it ended early
    is_broken: bool = False  # ... and whether that was a failure, and not a limit
    conditional: bool = False  # whether known pages are only requested if they changed: then their links are unknown
    queue: deque[Task] = field(default_factory=deque)
    flying: deque[tuple[Task, Future[Reply]]] = field(default_factory=deque)
    names: set[str] = field(default_factory=set)  # of all pages queued
    refused: set[int] = field(default_factory=set)  # hashes of the names of pages that were not
    beyond: int = 0  # pages that were not queued since too many were
    documents: dict[str, str] = field(default_factory=dict)  # name by hash, of all offered
    offered: dict[str, Stamp] = field(default_factory=dict)  # all documents, by name
    aliases: dict[str, list[Task]] = field(default_factory=dict)  # pages by the canonical one that they name
    twins: list[tuple[Task, str]] = field(default_factory=list)  # pages with the content of a known one
    failed: dict[str, float] = field(default_factory=dict)  # pages that could not be read: when to request them again
    unread: list[str] = field(default_factory=list)  # pages that were requested and are no documents now
    in_a_row: int = 0
    bytes: int = 0  # of all pages read
    last_size: int = 0  # bytes of the page read last
    left: Counter[str] = field(default_factory=Counter)  # by reason
    queries: Counter[str] = field(default_factory=Counter)  # by path
    dated: Counter[str] = field(default_factory=Counter)  # by pattern

    def __post_init__(self) -> None:
        self.stamps = {name: Stamp.read(text) for name, text in (self.known or self.root.reread).items()}
        self.hashes = {stamp.hash for stamp in self.stamps.values()}
        self.limit = self.root.limit or self.options.max_pages

    # ------------------------------------------------------------ the whole

    def run(self) -> Iterator[Offer]:
        before = self._cursor()
        first = self.stamps.get(INDEX, Stamp())
        is_settled = before.get("state") == self._state(self.stamps)
        self.conditional = not self.root.reread and (is_settled or len(self.stamps) >= self.limit)
        start = find_start(self.fetcher, self.root.uri, first if self.conditional else Stamp())
        if is_settled and self.conditional and before.get("robots", "") != self.fetcher.robots.hash:
            is_settled, self.conditional = False, len(self.stamps) >= self.limit  # it may allow other pages now
            start = start if self.conditional else find_start(self.fetcher, self.root.uri, Stamp())
        self.scope = start.scope
        if before.get("base", self.scope.base) != self.scope.base or not all(map(self._in_place, self.stamps)):
            raise SourceProblem(
                f"it redirects to {self.scope.base} now, and was read elsewhere before",
                "if it has moved for good: `watersmeet remove` it, and sync the new address",
            )
        ways = self._ways(before)
        version = Stamp(etag=before.get("etag", ""), modified=before.get("modified", "")).version
        self.way = find_way(self.fetcher, start, ways, version, self.options.max_bytes)
        parts = [name for name in self.stamps if name.startswith(FULL)]
        if self.way.name == BY_FULL:
            yield Note(_WORDS[BY_FULL])
            yield from self._full(parts)
            return
        if parts:
            yield from self._without_full(parts)
        if not self.way.name and not self.stamps:
            raise SourceProblem(f"{self.root.uri} answered 404 Not Found", "check the address")
        self.conditional = not self.root.reread and (self.conditional or self.way.name != BY_LINKS)
        yield Note(_WORDS.get(self.way.name, "nothing names its pages any more: those known before are looked at"))
        self._seed(start, before.get("failed", {}), before.get("unread", []))
        yield from self._pages(start)
        yield from self._notes()
        if self.way.name == BY_LINKS and self.conditional and not is_settled:  # links of unchanged pages are not known
            self.cut = self.cut or f"stopped after {self.limit:,} pages (--max-pages)"
        if self.beyond:
            self.cut = self.cut or f"stopped after {len(self.names):,} addresses (--max-pages)"
        if self.is_broken:
            raise SourceProblem(self.cut, "try again later")
        if self.cut:
            yield Cut(self.cut)
            return
        cursor = {
            "way": self.way.name,
            "base": self.scope.base,
            "state": self._state(self.offered),
            "robots": self.fetcher.robots.hash,
            "failed": self.failed,
            "unread": self.unread[:MAX_REMEMBERED] if self.way.name == BY_LINKS else [],
        }
        yield Whole(json.dumps({key: value for key, value in cursor.items() if value}))

    def _address(self, name: str) -> str:
        """The address of a known page."""
        return self.stamps[name].url or Scope.of(self.root.uri).url(name)

    def _in_place(self, name: str) -> bool:
        """Whether a known page is one of this site, and has the same name there."""
        page = None if name.startswith(FULL) else self.scope.page(self._address(name))
        return name.startswith(FULL) or (page is not None and page.name == name)

    def _cursor(self) -> dict[str, Any]:
        try:
            found = json.loads(self.root.cursor or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _state(self, pages: Mapping[str, Stamp]) -> str:
        """A hash of all pages, and of the settings that decide which links are followed. If it is that of the last
        complete crawl, unchanged pages have no links that were not followed then; after a cut crawl it differs."""
        listed = sorted((name, stamp.hash) for name, stamp in pages.items() if stamp.hash)
        options = self.options
        rules = [options.max_depth, options.max_queries, sorted(options.endings), sorted(options.media_types)]
        return sha256(json.dumps([listed, rules]).encode()).hexdigest()[:32]

    def _ways(self, before: Mapping[str, Any]) -> Ways:
        """Ways to try. Better ones than that of the last crawl are not: the names of all pages would change."""
        if self.options.strategy in WAYS:
            return Ways((self.options.strategy,), self.options.strategy)
        taken = BY_FULL if any(name.startswith(FULL) for name in self.stamps) else before.get("way", "")
        if taken in WAYS:
            return Ways(WAYS[WAYS.index(taken) :], taken)
        return Ways(WAYS[1:]) if self.stamps else Ways()

    def _seed(self, start: Start, failed: Mapping[str, float], unread: Sequence[str]) -> None:
        """Queue what is known, what the site names, and what could not be read or was left out the last time."""
        entries = {
            page.name: (page, entry.lastmod) for entry in self.way.entries if (page := self.scope.page(entry.url))
        }
        for name in self.stamps:
            page, lastmod = entries.get(name, (Page(name, self._address(name)), ""))
            if not name.startswith(FULL):
                self.names.add(name)
                self.queue.append(Task(page, lastmod=lastmod))
        for page, lastmod in entries.values():
            self._add(page, lastmod=lastmod, named=True)
        if self.way.name == BY_LINKS:
            self._add(self.scope.page(start.url), named=True)
        for url, due in failed.items():
            page = self.scope.page(url)
            if page is None or page.name in self.names:
                continue
            if due > time.time():
                self.names.add(page.name)
                self.failed[url] = due
                self.left["too slow or too large before, requested again after a day"] += 1
            else:
                self._add(page, named=True, failed_before=True)
        for url in unread:
            self._add(self.scope.page(url), named=True)

    def _add(
        self, page: Page | None, depth: int = 0, lastmod: str = "", named: bool = False, failed_before: bool = False
    ) -> None:
        """Queue a page, unless it is queued already or not to be read. `named`: the site itself names it."""
        if page is None or page.name in self.names or (key := hash(page.name)) in self.refused:
            return
        ending = splitext(page.path.rpartition("/")[2])[1].lower()
        if ending in LEFT_OUT:
            return
        addresses = MAX_ADDRESSES * self.limit + 1000
        if len(self.names) >= addresses or len(self.refused) >= 10 * addresses:
            self.beyond += 1
        elif reason := self._refusal(page, depth, named):
            self.left[reason] += 1
        else:
            self.names.add(page.name)
            self.queue.append(Task(page, depth, lastmod, failed_before=failed_before))
            return
        if len(self.refused) < 10 * addresses:
            self.refused.add(key)

    def _refusal(self, page: Page, depth: int, named: bool) -> str:
        """Why a page is not requested; empty if it is."""
        if is_trap(page.url):
            return "address that looks like a trap"
        if not self.fetcher.allows(page.url):
            return DISALLOWED
        if named:
            return ""
        if self.options.max_depth and depth > self.options.max_depth:
            return "too many links away (max_depth)"
        if "?" in page.url:
            self.queries[page.path] += 1
            if self.queries[page.path] > self.options.max_queries:
                return "same path with further parameters (max_queries)"
        if page.pattern:
            self.dated[page.pattern] += 1
            if self.dated[page.pattern] > MAX_DATED:
                return "further date of a calendar"
        return ""

    # ------------------------------------------------------------ pages

    def _pages(self, start: Start) -> Iterator[Offer]:
        pool = ThreadPoolExecutor(self.options.parallel, "watersmeet-site")
        first = self.scope.page(start.url)
        ready = {first.name: start.reply} if first and start.reply else {}
        try:
            while not self.cut:
                yield from self._drain(pool, ready)
                if not self._reconsider():
                    break
        finally:
            self.fetcher.gate.close()
            pool.shutdown(wait=False, cancel_futures=True)

    def _drain(self, pool: ThreadPoolExecutor, ready: dict[str, Reply]) -> Iterator[Offer]:
        """Request what is queued, and offer what comes back, until nothing is left or a limit is reached."""
        while (self.queue or self.flying) and not self.cut:
            while self.queue and not self._is_full() and self._has_room():
                yield from self._launch(self.queue.popleft(), pool, ready)
            if not self.flying:
                continue
            task, future = self.flying.popleft()
            try:
                reply = future.result()
            except Later as later:
                self.cut, self.is_broken = str(later), True
            except NoReply as problem:
                yield from self._failure(task, str(problem), due=time.time() + PAUSE_SECONDS)
            else:
                yield from self._take(task, reply)
            yield Pending(len(self.queue) + len(self.flying))

    def _is_full(self) -> bool:
        """Whether so many replies wait for an earlier one that no page is requested for now."""
        done = [one for _, one in self.flying if one.done()]
        waiting = sum(len(one.result().body) for one in done if not one.exception())
        waiting += self.last_size * (len(self.flying) - len(done))  # likely
        return len(self.flying) >= LOOKAHEAD or (bool(self.flying) and waiting > MAX_WAITING)

    def _has_room(self) -> bool:
        """Whether another page may be requested; if not, and nothing is under way, this is the end."""
        pages, requests = len(self.offered) + len(self.flying) < self.limit, MAX_REQUESTS * self.limit + 200
        if pages and self.fetcher.requests < requests:
            return True
        if not self.flying:
            at = f"{self.limit:,} pages (--max-pages)" if not pages else f"{requests:,} requests"
            more = "more than " if self.beyond else ""
            self.cut = f"stopped after {at}, with {more}{len(self.queue):,} addresses left"
        return False

    def _launch(self, task: Task, pool: ThreadPoolExecutor, ready: dict[str, Reply]) -> Iterator[Offer]:
        name, stamp = task.page.name, self.stamps.get(task.page.name)
        if stamp and not self.fetcher.allows(task.page.url):
            self.left[DISALLOWED] += 1
            yield from self._kept(name)
        elif stamp and self.conditional and task.lastmod and stamp.lastmod == task.lastmod and not stamp.misses:
            yield from self._kept(name)
        elif name in ready:
            done: Future[Reply] = Future()
            done.set_result(ready.pop(name))
            self.flying.append((task, done))
        else:
            version = stamp.version if stamp and self.conditional else None
            retries = 0 if task.failed_before else RETRIES
            self.flying.append((task, pool.submit(self.fetcher.get, task.page.url, version, False, retries)))

    def _take(self, task: Task, reply: Reply) -> Iterator[Offer]:
        """Offer what a reply says of a page."""
        name, stamp = task.page.name, self.stamps.get(task.page.name)
        if reply.status >= 500 or reply.status == 429:
            yield from self._failure(task, reply.error, counts=reply.status != 500)
            return
        self.in_a_row = 0
        if reply.location:
            yield from self._redirected(task, reply.location, reply.status in (301, 308))
        elif reply.status == 304 and stamp:
            yield from self._kept(name, str(stamp.present) if stamp.misses else "")
        elif reply.status == 200:
            yield from self._read(task, reply)
        elif reply.status in (404, 410):
            yield from self._missing(task.page)
        else:
            yield self._skipped(task.page, reply.error)
            yield from self._kept(name)

    def _redirected(self, task: Task, location: str, for_good: bool) -> Iterator[Offer]:
        """Queue the page that another one redirects to. If only for now, such as for maintenance, that one is kept."""
        page = self.scope.page(location)
        if page and page.name == task.page.name and task.hops < MAX_REDIRECTS and self.fetcher.allows(page.url):
            self.queue.appendleft(replace(task, page=page, hops=task.hops + 1))  # another spelling of it
            return
        if page is None:
            self.left["redirect to another site"] += 1
        elif page.name == task.page.name:
            self.left["redirect in a circle"] += 1
        elif task.hops < MAX_REDIRECTS:
            self._add(page, task.depth)
        if task.page.name in self.stamps:
            yield from self._missing(task.page) if for_good else self._kept(task.page.name)

    def _read(self, task: Task, reply: Reply) -> Iterator[Offer]:
        """Offer a page, follow its links, or recognise it as another spelling of one."""
        page = task.page
        self.bytes += len(reply.body)
        self.last_size = len(reply.body)
        if self.bytes > self.options.max_bytes_total:
            self.cut = f"stopped after {self.options.max_bytes_total:,} bytes (max_bytes_total)"
        ending = splitext(page.name.partition("?")[0])[1].lower()
        media = media_of(reply, ending if ending in self.options.endings else "", self.options.media_types)
        if not media:
            yield Skipped(page.url, f"no parser reads {reply.headers.get_content_type()}")
            yield from self._kept(page.name)
            return
        lastmod = task.lastmod if settled(task.lastmod, datetime.now(UTC)) else ""
        usual = Scope.of(self.root.uri).url(page.name)
        stamp = stamp_of(reply, page.url if page.url != usual else "", lastmod)
        is_html = media in (*HTML, ".html", ".htm", ".xhtml")
        found = links_of(text_of(reply)) if is_html else PageLinks(())
        base = tidy(found.base, page.url) if found.base else page.url
        is_alias = self._is_alias(task, found.canonical, base)
        if not is_alias and self._is_twin(task, stamp.hash):
            return
        if self.way.name == BY_LINKS:
            for link in found.links:
                self._add(self.scope.page(link, base), task.depth + 1)
        if is_alias:
            return
        self.documents.setdefault(stamp.hash, page.name)
        self.offered[page.name] = stamp
        self.held.uri, self.held.content = page.url, content_of(reply, media)
        yield Found(page.name, page.url, str(stamp), date_of(reply, task.lastmod), media, sure=True)
        self.held.uri, self.held.content = "", b""

    def _is_alias(self, task: Task, canonical: str, base: str) -> bool:
        """Whether a page names another one as the canonical one of both. That one is queued."""
        if not canonical or task.alone or task.page.name in self.stamps:
            return False
        other = self.scope.page(canonical, base)
        if other is None or other.name == task.page.name or self._claims(other.name) >= MAX_CLAIMS:
            return False
        self._add(other, task.depth)
        self.aliases.setdefault(other.name, []).append(task)
        return True

    def _claims(self, name: str) -> int:
        """Number of pages that name this one as canonical; not those that differ from it by parameters only."""
        return sum(task.page.name.partition("?")[0] != name.partition("?")[0] for task in self.aliases.get(name, ()))

    def _is_twin(self, task: Task, hash: str) -> bool:
        """Whether a new page has the content of another one. It is looked at later if that one is not offered yet."""
        if task.page.name in self.stamps:
            return False
        if hash in self.documents:
            self.left[_TWIN] += 1
            self.unread.append(task.page.url)
            return True
        if not task.alone and hash in self.hashes:
            self.twins.append((task, hash))
            return True
        return False

    def _reconsider(self) -> bool:
        """Queue pages again that were taken for another one which turned out not to be there."""
        again = [
            task
            for name, tasks in self.aliases.items()
            for task in tasks
            if name not in self.offered or self._claims(name) >= MAX_CLAIMS
        ]
        self.left[_ALIAS] += sum(map(len, self.aliases.values())) - len(again)
        again += [task for task, hash in self.twins if hash not in self.documents]
        self.left[_TWIN] += sum(hash in self.documents for _, hash in self.twins)
        seen = [task for tasks in self.aliases.values() for task in tasks] + [task for task, _ in self.twins]
        self.unread += [task.page.url for task in seen if task not in again]
        self.aliases.clear()
        self.twins.clear()
        self.queue += [replace(task, alone=True) for task in again]
        return bool(again)

    # ------------------------------------------------------------ known pages

    def _kept(self, name: str, stamp: str = "") -> Iterator[Offer]:
        """Offer a page as unchanged, if it was known before."""
        if name in self.stamps:
            self.documents.setdefault(self.stamps[name].hash, name)
            self.offered[name] = self.stamps[name]
            yield Same(name, stamp or (str(self.stamps[name].unversioned) if self.root.reread else ""))

    def _missing(self, page: Page) -> Iterator[Offer]:
        """A page that answers 404 or 410 is gone once it does so in several crawls in a row.

        Until then it is no reason to leave out another page with its content: it may have been renamed."""
        name, stamp = page.name, self.stamps.get(page.name)
        if stamp is None:
            self.left["not found"] += 1
            self.unread.append(page.url)
        elif stamp.misses + 1 >= self.options.misses:
            yield Gone(name)
        else:
            self.offered[name] = stamp
            stamp = stamp.unversioned if self.root.reread else stamp
            yield Same(name, str(replace(stamp, misses=stamp.misses + 1)))

    def _failure(self, task: Task, reason: str, counts: bool = True, due: float = 0) -> Iterator[Offer]:
        """A page that could not be read is kept, and requested again in the next crawl that is `due`."""
        self.in_a_row += counts
        self.failed[task.page.url] = due
        if self.in_a_row >= MAX_FAILURES or len(self.failed) > MAX_REMEMBERED:
            self.cut, self.is_broken = f"stopped because {len(self.failed)} pages could not be read", True
        yield self._skipped(task.page, reason)
        yield from self._kept(task.page.name)

    def _skipped(self, page: Page, reason: str) -> Skipped:
        return Skipped(page.url, reason.removeprefix(f"{page.url} "))

    def _notes(self) -> Iterator[Note]:
        counts = ", ".join(f"{reason}: {count:,}" for reason, count in self.left.items() if count)
        if counts:
            yield Note(f"addresses that were left out - {counts}")
        if not self.way.complete:
            yield Note("some of its sitemaps could not be read, or name too many pages")

    # ------------------------------------------------------------ llms-full.txt

    def _full(self, parts: list[str]) -> Iterator[Offer]:
        """Offer the parts of llms-full.txt."""
        reply = self.way.reply
        if reply is None or reply.status == 304:
            yield from map(Same, parts)
            yield Whole(self.root.cursor)
            return
        place = self.scope.base + FULL
        for part in parts_of_full(reply.body.decode("utf-8-sig", "replace")):
            name = f"{FULL}#{part.anchor}" if part.anchor else FULL
            if self.known.get(name) == part.stamp:
                yield Same(name)
                continue
            source = tidy(part.source) if part.source else ""
            uri = source if source.startswith(self.scope.origin + "/") else place + name[len(FULL) :]
            self.held.uri, self.held.content = uri, part.text.encode()
            yield Found(name, uri, part.stamp, date_of(reply, ""), ".md", sure=True)
            self.held.uri, self.held.content = "", b""
        version = stamp_of(reply, "", "")
        yield Whole(json.dumps({"way": BY_FULL, "etag": version.etag, "modified": version.modified}))

    def _without_full(self, parts: list[str]) -> Iterator[Offer]:
        """The parts of a llms-full.txt that is missing: they are gone if it was missing the last time too."""
        if all(self.stamps[name].misses + 1 >= self.options.misses for name in parts):
            for name in parts:
                del self.stamps[name]
                yield Gone(name)
            return
        for name in parts:
            yield Same(name, str(Stamp(misses=self.stamps[name].misses + 1)))
        raise SourceProblem(f"its {FULL} is missing", "if it still is the next time, its pages are removed")
