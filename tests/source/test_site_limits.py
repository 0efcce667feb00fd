"""Websites: manners, limits, private addresses, and what a site cannot make us do."""

from __future__ import annotations

import gzip
import socket
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import trap_site
from pages import Answer, Website, moved, page, sitemap, website
from scans import Scan, scan, small
from watersmeet.common import addresses
from watersmeet.core.indexing import SourceRoot
from watersmeet.source import _crawl, _fetcher, _robots
from watersmeet.source.site import Site

LATE = 10.0
"""Seconds that no test comes near, unless a limit does not hold: then what it waits for takes longer."""


@pytest.fixture
def web() -> Iterator[Website]:
    with website() as site:
        yield site


# ---------------------------------------------------------------- manners


def test_robots_txt_is_obeyed(web: Website) -> None:
    small(web)
    rules = b"User-agent: *\nDisallow: /\n\nUser-agent: watersmeet\nDisallow: /docs/b/\nAllow: /docs/b/deep/\n"
    web.pages["/robots.txt"] = Answer(rules, type="text/plain")
    first = scan(web)
    assert first.found.keys() == {"index", "a"}
    assert "disallowed by robots.txt: 1" in first.notes
    assert "/docs/b/" not in web.paths
    assert "b" in scan(web, robots=False).found
    assert "robots.txt" in scan(web, "/docs/b/x.html").problem


def test_without_robots_txt_nothing_is_read_if_it_fails(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fetcher, "BACKOFF_SECONDS", 0.0)
    small(web)
    first = scan(web)
    for status in (500, 503, 429):
        web.pages["/robots.txt"] = Answer(b"", status)
        web.forget()
        down = scan(web, known=first.stamps, cursor=first.cursor)
        assert (down.offers, set(web.paths)) == ([], {"/robots.txt"})
        assert "robots.txt" in down.problem
    web.pages["/robots.txt"] = Answer(b"", 403)
    assert scan(web).found.keys() == first.found.keys()


def test_requests_keep_to_the_rate_and_the_number_at_once(web: Website) -> None:
    web.pages["/docs/"] = page("Home", *trap_site._WORDS[:10])

    def answer(handler: Any) -> None:
        """Answers once two requests are there at the same time: on a busy machine the second may come late."""
        deadline = time.monotonic() + 10
        while web.most < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        handler._answer(page(handler.path))

    web.pages |= {f"/docs/{word}": Answer(act=answer) for word in trap_site._WORDS[:10]}
    scan(web, parallel=3)
    assert 1 < web.most <= 3
    start = time.monotonic()
    scan(web, rate=50.0)
    assert time.monotonic() - start >= (len(web.paths) / 2 - 1) / 50


def test_crawl_delay_is_kept(web: Website) -> None:
    web.pages |= {"/docs/": page("Home", "a"), "/docs/a": page("A")}
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 0.1\n", type="text/plain")
    start = time.monotonic()
    scan(web, strategy="links")
    assert time.monotonic() - start >= 0.1 * (len(web.paths) - 2)


def test_retry_after_is_kept(web: Website) -> None:
    small(web)
    busy = Answer(b"", 429, headers={"Retry-After": "1"})
    web.pages["/docs/a"] = Answer(act=lambda handler: (web.pages.update({"/docs/a": page("A")}), handler._answer(busy)))
    start = time.monotonic()
    assert "a" in scan(web, strategy="links").found
    assert time.monotonic() - start >= 1.0


def test_a_long_retry_after_ends_the_crawl(web: Website) -> None:
    small(web)
    first = scan(web)
    web.pages["/docs/a"] = Answer(b"", 503, headers={"Retry-After": "3600"})
    again = scan(web, known=first.stamps, cursor=first.cursor)
    assert "3600 s" in again.problem
    assert (again.whole, again.gone) == (None, set())


# ---------------------------------------------------------------- limits


def test_the_number_of_pages_is_limited(web: Website) -> None:
    web.pages["/docs/"] = page("Home", *trap_site._WORDS)
    web.pages |= {f"/docs/{word}": page(word) for word in trap_site._WORDS}
    first = scan(web, limit=5)
    assert len(first.found) == 5
    assert first.problem.startswith("stopped after 5 pages (--max-pages)")
    assert first.whole is None
    more = scan(web, known=first.stamps, max_pages=8)
    assert {*more.found, *more.same} > first.found.keys()
    assert len({*more.found, *more.same}) == 8
    rest = scan(web, known=more.stamps)
    assert len(rest.found) == 1 + len(trap_site._WORDS)
    assert rest.whole


def test_pages_that_a_cut_crawl_left_are_found_later(web: Website) -> None:
    """A changed page was read, but there was no room for what it links to."""
    small(web)
    first = scan(web)
    web.pages["/docs/a"] = page("A", "new", text="Changed.")
    web.pages["/docs/new"] = page("New")
    cut = scan(web, known=first.stamps, cursor=first.cursor, limit=4)
    assert cut.problem
    stamps = {**first.stamps, **cut.stamps}
    assert "new" in scan(web, known=stamps, cursor=first.cursor).found


def test_the_bytes_of_a_site_are_limited(web: Website) -> None:
    web.pages["/docs/"] = page("Home", *trap_site._WORDS)
    web.pages |= {f"/docs/{word}": page(word, text="x" * 10_000) for word in trap_site._WORDS}
    first = scan(web, max_bytes_total=50_000)
    assert "bytes (max_bytes_total)" in first.problem
    assert 0 < len(first.found) < 10
    assert first.whole is None


def test_redirects_without_end_are_limited(web: Website) -> None:
    web.pages["/docs/"] = page("Home", "r/1")
    web.otherwise = lambda path: moved(f"/docs/r/{int(path[8:]) + 1}") if path.startswith("/docs/r/") else None
    first = scan(web, max_pages=10)
    assert "requests" in first.problem
    assert len(web.paths) < 300


def test_large_and_slow_pages_are_left_out(web: Website) -> None:
    web.pages |= {"/docs/": page("Home", "bomb", "drip", "large", "a"), "/docs/a": page("A")}
    web.pages["/docs/bomb"] = Answer(gzip.compress(bytes(5_000_000)), headers={"Content-Encoding": "gzip"})
    web.pages["/docs/large"] = Answer(b"x" * 300_000)
    web.pages["/docs/drip"] = Answer(act=trap_site._drip)
    start = time.monotonic()
    first = scan(web, max_bytes=200_000, timeout=0.5)
    assert time.monotonic() - start < LATE
    assert first.found.keys() == {"index", "a"}
    assert first.skipped.keys() == {f"{web.url}/docs/{name}" for name in ("bomb", "large", "drip")}
    web.forget()
    again = scan(web, known=first.stamps, cursor=first.cursor)
    assert not {"/docs/bomb", "/docs/drip"} & {*web.paths}  # not every time
    assert "after a day: 3" in again.notes


def test_endless_addresses_are_left_out(web: Website) -> None:
    web.pages["/docs/"] = page("Home", "maze/", "list?n=0", "calendar/2026/11", f"x?q={'y' * 400}", "/docs" + "/d" * 30)

    def endless(path: str) -> Answer | None:
        if path.startswith("/docs/list?n="):
            return page(path, f"list?n={int(path[13:]) + 1}")
        return trap_site._endless(path)

    web.otherwise = endless
    first = scan(web, max_queries=5)
    kinds = Counter(name.partition("/")[0].partition("?")[0] for name in first.found)
    assert first.problem == ""
    assert kinds["calendar"] == _crawl.MAX_DATED
    assert kinds["list"] == 5
    assert kinds["maze"] < 20
    assert max(name.count("deeper") for name in first.found) == 3
    assert not any(len(path) > 400 or "/d/d" in path for path in web.paths)


def test_a_sitemap_is_not_trusted(web: Website) -> None:
    small(web)
    entity = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>http://h/&b;</loc></url></urlset>'
    many = sitemap(web.url, {f"/docs/x{n}": "" for n in range(30)}).body
    for body in (
        entity,
        b"<urlset>" + b"<a>" * 100_000,
        b"<html></html>",
        b"",
        gzip.compress(bytes(50_000_000)),
        b"\0",
    ):
        web.pages["/docs/sitemap.xml"] = Answer(body, type="application/xml")
        assert scan(web).found.keys() == {"index", "a", "b", "b/deep/c"}
    web.pages["/docs/sitemap.xml"] = Answer(many.replace(b"/docs/x1<", b"/docs/a<"), type="application/xml")
    assert scan(web).found.keys() == {"a"}
    circle = f"<sitemapindex><sitemap><loc>{web.url}/docs/sitemap.xml</loc></sitemap></sitemapindex>"
    web.pages["/docs/sitemap.xml"] = Answer(circle.encode(), type="application/xml")
    assert scan(web).found.keys() == {"index", "a", "b", "b/deep/c"}


# ---------------------------------------------------------------- private addresses


def test_private_addresses_are_not_opened(web: Website) -> None:
    small(web)
    for options in ({"allowed": []}, {"allowed": ["localhost"]}, {"public_only": True, "allowed": [web.host]}):
        closed = Scan(Site(rate=0.0, **options).scan(SourceRoot("site", f"{web.url}/docs/"), {}))  # type: ignore[arg-type]
        assert "not a public address" in closed.problem
    assert web.paths == []


def test_no_page_leads_to_a_private_address(web: Website) -> None:
    with website() as inner:
        inner.otherwise = lambda path: page("Inner")
        links = [f"r{n}" for n in range(3)]
        web.pages["/docs/"] = page("Home", f"{inner.url}/docs/", *links)
        for link, place in zip(links, (f"{inner.url}/x", "http://169.254.169.254/", "http://[::1]/"), strict=True):
            web.pages[f"/docs/{link}"] = moved(place)
        for name in ("robots.txt", "docs/llms-full.txt", "docs/llms.txt", "docs/sitemap.xml"):
            web.pages[f"/{name}"] = moved(f"{inner.url}/{name}")
        allowed = [web.host, inner.host]  # even one that another site may read
        site = Site(allowed=allowed, rate=0.0)
        assert "not a public address" in Scan(site.scan(SourceRoot("site", f"{web.url}/docs/"), {})).problem
        del web.pages["/robots.txt"]
        first = Scan(site.scan(SourceRoot("site", f"{web.url}/docs/"), {}))
        assert first.found.keys() == {"index"}
        web.pages["/moved/"] = moved(f"{inner.url}/docs/")
        assert "not a public address" in Scan(site.scan(SourceRoot("site", f"{web.url}/moved/"), {})).problem
        assert inner.paths == []


def test_a_name_that_changes_its_address_is_not_followed(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the first answer is public, the next is this machine."""
    looked: list[str] = []

    def look_up(host: str, port: int, flags: int = 0) -> list[addresses.Address]:
        if flags:
            raise socket.gaierror
        looked.append(host)
        ip = "192.0.2.1" if len(looked) == 1 else "127.0.0.1"
        monkeypatch.setattr(addresses, "is_public", lambda ip: ip != "127.0.0.1")
        return [addresses.Address(socket.AF_INET, (ip, web.server_port))]

    monkeypatch.setattr(addresses, "_looked_up", look_up)
    small(web)
    site = Site(rate=0.0, timeout=0.3, robots=False)
    root = SourceRoot("site", f"http://rebound.example:{web.server_port}/docs/")
    assert Scan(site.scan(root, {})).problem  # 192.0.2.1 does not answer
    assert "not a public address" in Scan(site.scan(root, {})).problem
    assert web.paths == []


# ---------------------------------------------------------------- all traps at once


def test_a_site_full_of_traps(web: Website) -> None:
    titles = trap_site.build(web)
    first = scan(web, timeout=1.0)
    assert len(titles) == trap_site.REAL == 300
    names = {path.removeprefix("/docs/").rstrip("/") or "index" for path in titles}
    assert names <= first.found.keys()
    assert len(first.found) <= 300 + _crawl.MAX_DATED + 60
    assert "/docs/secret/page" not in web.paths
    assert max(Counter(path for path in web.paths if "broken" not in path).values()) == 1
    web.forget()
    again = scan(web, known=first.stamps, cursor=first.cursor, timeout=1.0)
    assert again.same.keys() == first.found.keys()
    assert again.found == {}
    assert 200 not in web.statuses[1:]  # robots.txt is read each time


def test_links_without_end_are_not_all_remembered(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those beyond a limit take no memory, and are not compared with the rules of robots.txt."""
    compared = []
    monkeypatch.setattr(_fetcher.Fetcher, "allows", lambda self, url: compared.append(url) or True)
    for number in range(10):
        web.pages[f"/docs/{number}"] = page(f"Page {number}", *(f"{number}/{link}" for link in range(500)))
    web.pages["/docs/"] = page("Home", *map(str, range(10)))
    first = scan(web, limit=8, strategy="links")
    assert len(first.found) == 8
    assert "more than 1," in first.problem
    assert len(compared) < 1_200


def test_addresses_beyond_the_limit_end_a_crawl(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all links were followed, so that it is not known which pages are gone."""
    monkeypatch.setattr(_crawl, "MAX_ADDRESSES", -99)
    web.pages |= {"/docs/": page("Home", "b", *(f"a{number}" for number in range(20))), "/docs/b": page("B")}
    first = scan(web, limit=10)
    assert "addresses" in first.problem
    assert (first.whole, first.found.keys()) == (None, {"index", "b"})


def test_rules_that_take_too_long_end_a_crawl(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    small(web)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /x\n", type="text/plain")
    first = scan(web)
    monkeypatch.setattr(_robots, "MAX_SECONDS", -1.0)
    again = scan(web, known=first.stamps, cursor=first.cursor)
    assert "robots.txt has so many rules" in again.problem
    assert (again.whole, again.gone) == (None, set())
