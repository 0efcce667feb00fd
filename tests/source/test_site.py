"""Websites: which pages are found, each of them once, and what later crawls ask for."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import trap_site
from pages import Answer, Website, moved, page, sitemap, website
from scans import scan, small, source, texts
from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.core.indexing import Found, Skipped
from watersmeet.source import _crawl, _fetcher
from watersmeet.source.site import Site


@pytest.fixture
def web() -> Iterator[Website]:
    with website() as site:
        yield site


# ---------------------------------------------------------------- which address is a site


def test_an_address_without_a_file_ending_is_a_site() -> None:
    site = Site()
    for uri in ("https://Example.org:443/docs", "HTTPS://example.org/docs/", "https://example.org/x/../docs#top"):
        located = site.locate(uri)
        assert (located.uri, located.only) == ("https://example.org/docs/", None)
    assert site.locate("https://example.org").uri == "https://example.org/"
    assert site.locate("https://example.org/docs/3.12").only is None
    assert site.locate("https://example.org/docs/").name == "example.org-docs"


def test_an_address_with_a_file_ending_or_a_query_is_one_page() -> None:
    for uri, name in (("/a/paper.pdf", "paper.pdf"), ("/b/x.HTML", "x.HTML"), ("/p?id=3&utm_source=x", "p?id=3")):
        only = Site().locate(f"https://example.org{uri}").only
        assert isinstance(only, Found)
        assert only.name == name


@pytest.mark.parametrize("uri", ["https://", "https://user:secret@example.org/", "http:///x", "https:a"])
def test_what_is_no_address_is_refused(uri: str) -> None:
    with pytest.raises(SourceProblem) as caught:
        Site().locate(uri)
    assert "secret" not in str(caught.value) + caught.value.hint


def test_one_page_is_one_document(web: Website) -> None:
    web.pages["/x/paper.md"] = Answer(b"# Paper\n", type="text/plain")
    first = scan(web, "/x/paper.md")
    assert [(one.name, one.uri, one.media) for one in first.found.values()] == [
        ("paper.md", f"{web.url}/x/paper.md", ".md")
    ]
    assert scan(web, "/x/paper.md", first.stamps).same == {"paper.md": ""}
    assert web.paths == ["/robots.txt", "/x/paper.md"] * 2
    del web.pages["/x/paper.md"]
    once = scan(web, "/x/paper.md", first.stamps)
    assert once.same.keys() == {"paper.md"}
    assert scan(web, "/x/paper.md", once.same).gone == {"paper.md"}
    assert scan(web, "/x/other.md").problem


# ---------------------------------------------------------------- ways


def test_links_below_the_path_are_followed(web: Website) -> None:
    small(web)
    first = scan(web)
    assert {name: one.uri for name, one in first.found.items()} == {
        "index": f"{web.url}/docs/",
        "a": f"{web.url}/docs/a",
        "b": f"{web.url}/docs/b/",
        "b/deep/c": f"{web.url}/docs/b/deep/c",
    }
    assert "links" in first.notes
    assert "/elsewhere" not in web.paths
    assert max(Counter(web.paths).values()) == 1


def test_a_sitemap_names_the_pages(web: Website) -> None:
    small(web)
    web.pages["/robots.txt"] = Answer(f"Sitemap: {web.url}/maps/index.xml".encode(), type="text/plain")
    index = f"<sitemapindex><sitemap><loc>{web.url}/maps/1.xml.gz</loc></sitemap></sitemapindex>"
    packed = gzip.compress(sitemap(web.url, {"/docs/a": "", "/elsewhere": "", "/docs/b/": ""}).body)
    web.pages |= {"/maps/index.xml": Answer(index.encode()), "/maps/1.xml.gz": Answer(packed, type="application/gzip")}
    first = scan(web)
    assert first.found.keys() == {"a", "b"}
    assert "sitemap" in first.notes


def test_the_date_in_a_sitemap_saves_the_request(web: Website) -> None:
    small(web)
    web.pages["/docs/sitemap.xml"] = sitemap(web.url, {"/docs/a": "2020-01-01", "/docs/b/": "2999-01-01"})
    first = scan(web)
    web.forget()
    again = scan(web, known=first.stamps, cursor=first.cursor)
    assert again.same.keys() == {"a", "b"}
    assert "/docs/a" not in web.paths
    assert "/docs/b/" in web.paths  # a page may change again on the day of its date
    web.pages["/docs/a"] = page("A", text="New.")
    web.pages["/docs/sitemap.xml"] = sitemap(web.url, {"/docs/a": "2020-01-02", "/docs/b/": ""})
    assert scan(web, known=first.stamps, cursor=first.cursor).found.keys() == {"a"}


def test_llms_txt_names_the_pages(web: Website) -> None:
    small(web)
    listed = "# Docs\n\n- [Guide](guide.md): how\n- [B](/docs/b/)\n- [Other](https://example.org/x.md)\n"
    web.pages |= {"/docs/llms.txt": Answer(listed.encode(), type="text/plain")}
    web.pages["/docs/guide.md"] = Answer(b"# Guide\n", type="text/markdown")
    first = scan(web)
    assert {name: one.media for name, one in first.found.items()} == {"guide.md": "text/markdown", "b": "text/html"}
    assert "llms.txt" in first.notes


FULL = b"# One\n\nFirst.\n\n```\n# no heading\n```\n\n# Two\nSource: HOST/docs/two\n\nSecond.\n\n# One\n\nThird.\n"


def test_llms_full_txt_is_split_at_its_headings(web: Website) -> None:
    small(web)
    web.pages["/docs/llms-full.txt"] = Answer(FULL.replace(b"HOST", web.url.encode()), type="text/plain")
    first = scan(web)
    assert {name: one.uri.removeprefix(web.url) for name, one in first.found.items()} == {
        "llms-full.txt#one": "/docs/llms-full.txt#one",
        "llms-full.txt#two": "/docs/two",
        "llms-full.txt#one-2": "/docs/llms-full.txt#one-2",
    }
    assert "# no heading" in texts(web)["llms-full.txt#one"]
    again = scan(web, known=first.stamps, cursor=first.cursor)
    assert again.same.keys() == first.found.keys()
    assert web.statuses[-1] == 304
    web.pages["/docs/llms-full.txt"] = Answer(FULL.replace(b"First", b"Changed").split(b"# Two")[0], type="text/plain")
    changed = scan(web, known=first.stamps, cursor=first.cursor)
    assert changed.found.keys() == {"llms-full.txt#one"}
    assert changed.same == {}
    assert changed.whole  # so that the other parts are deleted


def test_a_missing_llms_full_txt_is_looked_for_twice(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fetcher, "BACKOFF_SECONDS", 0.0)
    small(web)
    web.pages["/docs/llms-full.txt"] = Answer(FULL, type="text/plain")
    first = scan(web)
    web.pages["/docs/llms-full.txt"] = Answer(b"", 503)
    down = scan(web, known=first.stamps, cursor=first.cursor)
    assert (down.problem != "", down.whole, down.gone, down.found) == (True, None, set(), {})
    del web.pages["/docs/llms-full.txt"]
    once = scan(web, known=first.stamps, cursor=first.cursor)
    assert once.same.keys() == first.found.keys()
    assert once.whole is None
    twice = scan(web, known=once.same, cursor=first.cursor)
    assert twice.gone == first.found.keys()
    assert "a" in twice.found


def test_a_page_for_everything_is_no_llms_txt(web: Website) -> None:
    """Some sites answer any address with their first page."""
    small(web)
    web.otherwise = lambda path: page("Everything") if path.startswith(("/docs/llms", "/docs/site", "/llms")) else None
    assert scan(web).found.keys() == {"index", "a", "b", "b/deep/c"}


def test_a_better_way_that_appears_later_is_not_taken(web: Website) -> None:
    """All names would change."""
    small(web)
    first = scan(web)
    web.pages["/docs/llms-full.txt"] = Answer(FULL, type="text/plain")
    assert scan(web, known=first.stamps, cursor=first.cursor).same.keys() == first.found.keys()
    assert "llms-full.txt#one" in scan(web).found


def test_the_way_can_be_chosen(web: Website) -> None:
    with pytest.raises(ConfigError, match="strategy"):
        source(web, strategy="link")
    small(web)
    web.pages["/docs/sitemap.xml"] = sitemap(web.url, {"/docs/a": ""})
    assert scan(web, strategy="links").found.keys() == {"index", "a", "b", "b/deep/c"}
    assert scan(web, "/docs/sitemap.xml").found.keys() == {"a"}


# ---------------------------------------------------------------- one page, one name


def test_spellings_of_one_page_are_one_page(web: Website) -> None:
    links = (
        "p",
        "p/",
        "./p#x",
        "/docs/p?utm_source=a&fbclid=b",
        "x/../p",
        "p/index.html",
        "%70",
        "p?",
        "//HOST/docs/p",
    )
    host = web.host
    web.pages["/docs/"] = page("Home", *(link.replace("HOST", host) for link in links))
    web.pages["/docs/p"] = page("P")
    assert scan(web).found.keys() == {"index", "p"}
    assert sum(path.startswith("/docs/p") for path in web.paths) == 1


def test_the_canonical_page_is_read_instead_of_others(web: Website) -> None:
    head = '<link href="/docs/p" rel="canonical">'
    web.pages["/docs/"] = page("Home", "print/p", "q?view=1", "q?view=2")
    web.pages["/docs/print/p"] = page("P, printed", head=head)
    web.pages["/docs/p"] = page("P", head=head)
    web.pages |= {f"/docs/q?view={n}": page("Q", text=str(n), head="<link rel=canonical href=q>") for n in (1, 2)}
    assert scan(web).found.keys() == {"index", "p", "q?view=1", "q?view=2"}  # there is no page q
    web.pages["/docs/q"] = page("Q")
    assert scan(web).found.keys() == {"index", "p", "q"}


def test_a_site_that_calls_every_page_its_first_one_is_read_all_the_same(web: Website) -> None:
    head = '<link rel="canonical" href="/docs/">'
    names = [f"page-{word}" for word in trap_site._WORDS]
    web.pages["/docs/"] = page("Home", *names, head=head)
    web.pages |= {f"/docs/{name}": page(name, head=head) for name in names}
    assert scan(web).found.keys() == {"index", *names}


def test_the_same_content_is_read_once(web: Website) -> None:
    web.pages["/docs/"] = page("Home", "one", "two")
    web.pages |= {"/docs/one": page("Same"), "/docs/two": page("Same")}
    first = scan(web)
    assert first.found.keys() == {"index", "one"}
    assert "same content as another page: 1" in first.notes
    del web.pages["/docs/one"]  # it has moved
    web.pages["/docs/"] = page("Home", "two", text="Changed.")
    moved_scan = scan(web, known=first.stamps, cursor=first.cursor, misses=1)
    assert moved_scan.gone == {"one"}
    assert moved_scan.found.keys() == {"index", "two"}


def test_redirects_are_followed_within_the_site(web: Website) -> None:
    web.pages |= {"/docs/": page("Home", "old", "b", "out", "r1"), "/docs/old": moved("/docs/new")}
    web.pages |= {"/docs/new": page("New"), "/docs/b": moved("/docs/b/"), "/docs/b/": page("B")}
    web.pages |= {"/docs/out": moved("/elsewhere"), "/elsewhere": page("Elsewhere")}
    web.pages |= {"/docs/r1": moved("/docs/r2"), "/docs/r2": moved("/docs/r1")}
    web.pages |= {"/docs/s": moved("/docs/s/"), "/docs/s/": moved("/docs/s")}
    first = scan(web)
    assert {name: one.uri.removeprefix(web.url) for name, one in first.found.items()} == {
        "index": "/docs/",
        "new": "/docs/new",
        "b": "/docs/b/",
    }
    assert "/elsewhere" not in web.paths
    assert scan(web, "/docs/s/").problem  # a circle


def test_a_site_that_moved_is_read_where_it_is(web: Website) -> None:
    small(web)
    web.pages["/old/"] = moved(f"{web.url}/docs/")
    assert scan(web, "/old/").found.keys() == {"index", "a", "b", "b/deep/c"}
    web.pages["/"] = moved("/docs/")
    assert "docs/a" in scan(web, "/").found


def test_an_address_may_lack_the_slash(web: Website) -> None:
    web.pages |= {"/docs": page("Home", "/docs/a", "docs/b"), "/docs/a": page("A"), "/docs/b": page("B")}
    first = scan(web)
    assert {name: one.uri.removeprefix(web.url) for name, one in first.found.items()} == {
        "index": "/docs",
        "a": "/docs/a",
        "b": "/docs/b",
    }
    assert scan(web, known=first.stamps, cursor=first.cursor).same.keys() == first.found.keys()


def test_a_page_that_only_forwards_is_followed(web: Website) -> None:
    web.pages["/docs/"] = Answer(b'<meta http-equiv="refresh" content="0; url=latest/">')
    web.pages["/docs/latest/"] = page("Latest")
    assert scan(web).found.keys() == {"index", "latest"}


def test_links_in_scripts_and_comments_are_none(web: Website) -> None:
    html = b"""<base href="/docs/sub/"><!-- <a href="no">x</a> --><script>'<a href="no2">'</script>
    <a href="no3" rel="nofollow">x</a><A title='x' HREF = 'yes&amp;more'>x</A><a href=plain>x</a>"""
    web.pages |= {"/docs/": Answer(html), "/docs/sub/yes&more": page("Yes"), "/docs/sub/plain": page("Plain")}
    assert scan(web).found.keys() == {"index", "sub/yes&more", "sub/plain"}
    assert not any("/no" in path for path in web.paths)


# ---------------------------------------------------------------- later crawls


def test_unchanged_pages_are_not_sent_again(web: Website) -> None:
    small(web)
    first = scan(web)
    web.forget()
    again = scan(web, known=first.stamps, cursor=first.cursor)
    assert again.same == dict.fromkeys(first.found, "")
    assert Counter(web.statuses) == {304: 4, 404: 1}
    web.validators = False  # the content itself is compared
    assert scan(web, known=first.stamps, cursor=first.cursor).found.keys() == first.found.keys()
    bare = scan(web)
    assert scan(web, known=bare.stamps, cursor=bare.cursor).stamps == bare.stamps


def test_changed_and_new_pages_are_found(web: Website) -> None:
    small(web)
    first = scan(web)
    web.pages["/docs/a"] = page("A", "new", text="Changed.")
    web.pages["/docs/new"] = page("New")
    again = scan(web, known=first.stamps, cursor=first.cursor)
    assert again.found.keys() == {"a", "new"}
    assert again.same.keys() == {"index", "b", "b/deep/c"}


def test_a_page_is_gone_after_two_crawls(web: Website) -> None:
    small(web)
    first = scan(web)
    del web.pages["/docs/a"]
    once = scan(web, known=first.stamps, cursor=first.cursor)
    assert (once.gone, once.same.keys()) == (set(), first.found.keys())
    assert json.loads(once.same["a"])["misses"] == 1
    stamps = {name: once.same[name] or stamp for name, stamp in first.stamps.items()}
    web.pages["/docs/a"] = page("A", "/docs/", "b/#part", "mailto:me@example.org")
    back = scan(web, known=stamps, cursor=first.cursor)
    assert "misses" not in back.same["a"]
    assert back.same["a"]
    web.pages["/docs/a"] = Answer(b"", 410)
    assert scan(web, known=stamps, cursor=first.cursor).gone == {"a"}


def test_maintenance_deletes_nothing(web: Website) -> None:
    """Every page redirects for a while, to a page of the site or elsewhere."""
    small(web)
    web.pages["/docs/sorry"] = page("Sorry")
    first = scan(web)
    pages = dict(web.pages)
    for place in ("/docs/sorry", "/elsewhere"):
        web.pages |= {path: moved(place, 302) for path in ("/docs/", "/docs/a", "/docs/b/", "/docs/b/deep/c")}
        known = first.stamps
        for _ in range(3):
            again = scan(web, known=known, cursor=first.cursor)
            assert again.gone == set()
            assert not again.whole or again.same.keys() >= first.found.keys()
            known = {name: again.same.get(name) or stamp for name, stamp in known.items()}
        assert known == first.stamps
    web.pages = pages
    assert scan(web, known=first.stamps, cursor=first.cursor).same.keys() == first.found.keys()


def test_a_page_that_moved_for_good_is_gone_after_two_crawls(web: Website) -> None:
    small(web)
    first = scan(web)
    web.pages |= {"/docs/a": moved("/docs/aa", 301), "/docs/aa": page("A at another place")}
    once = scan(web, known=first.stamps, cursor=first.cursor)
    assert once.found.keys() == {"aa"}
    known = {name: once.same.get(name) or stamp for name, stamp in first.stamps.items()} | once.stamps
    assert scan(web, known=known, cursor=once.cursor).gone == {"a"}


def test_failures_delete_nothing(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fetcher, "BACKOFF_SECONDS", 0.0)
    small(web)
    first = scan(web)
    for failure in (Answer(b"", 500), Answer(b"", 503), Answer(act=lambda handler: None), Answer(b"", 403)):
        web.pages["/docs/a"] = failure
        again = scan(web, known=first.stamps, cursor=first.cursor)
        assert again.gone == set()
        assert again.same.keys() == first.found.keys()
        assert f"{web.url}/docs/a" in again.skipped


def test_pages_that_failed_are_requested_again(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fetcher, "BACKOFF_SECONDS", 0.0)
    small(web)
    good, web.pages["/docs/b/"] = web.pages["/docs/b/"], Answer(b"", 500)
    first = scan(web)
    assert first.found.keys() == {"index", "a"}
    web.pages["/docs/b/"] = good
    assert scan(web, known=first.stamps, cursor=first.cursor).found.keys() == {"b", "b/deep/c"}


def test_a_site_that_is_down_is_left_alone(web: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fetcher, "BACKOFF_SECONDS", 0.0)
    monkeypatch.setattr(_crawl, "MAX_FAILURES", 3)
    web.pages["/docs/"] = page("Home", *trap_site._WORDS)
    web.otherwise = lambda path: Answer(b"", 502) if path[6:] in trap_site._WORDS else None
    first = scan(web, parallel=1)
    assert "could not be read" in first.problem
    assert first.whole is None
    web.shutdown()
    web.server_close()
    assert scan(web, known=first.stamps).problem


# ---------------------------------------------------------------- content


def test_files_are_kept_by_their_media_type(web: Website) -> None:
    types = {"pdf": "application/pdf", "plain": "text/plain; charset=utf-8", "zip": "application/zip", "none": ""}
    web.pages["/docs/"] = page("Home", *types, "x.md", "y.png", "z.html")
    web.pages |= {f"/docs/{name}": Answer(name.encode(), type=type) for name, type in types.items()}
    web.pages |= {"/docs/x.md": Answer(b"# X", type="text/plain"), "/docs/z.html": page("Z")}
    first = scan(web, media_types=frozenset({"text/html", "application/pdf"}))
    assert {name: one.media for name, one in first.found.items()} == {
        "index": "text/html",
        "pdf": "application/pdf",
        "plain": "text/plain",
        "x.md": ".md",
        "z.html": "text/html",
    }
    assert "application/zip" in first.skipped[f"{web.url}/docs/zip"]
    assert "/docs/y.png" not in web.paths


def test_the_encoding_in_the_header_counts(web: Website) -> None:
    web.pages["/docs/"] = page("Home", "greek", "utf8", "strange", "plain.txt")
    body = '<meta charset="iso-8859-1"><main>{}</main>'
    web.pages["/docs/greek"] = Answer(body.format("γλαύξ").encode("iso-8859-7"), type="text/html; charset=ISO-8859-7")
    web.pages["/docs/utf8"] = Answer(body.format("Möwe").encode(), type="text/html; charset=utf-8")
    web.pages["/docs/strange"] = Answer(body.format("auk").encode(), type="text/html; charset=zip")
    web.pages["/docs/plain.txt"] = Answer("Möwe".encode("cp1252"), type="text/plain; charset=latin1")
    read = texts(web)
    assert "γλαύξ" in read["greek"]
    assert "Möwe" in read["utf8"]
    assert "auk" in read["strange"]
    assert read["plain.txt"] == "Möwe"
    site = source(web)
    (found,) = [one for one in scan(web).found.values() if one.name == "utf8"]
    assert str(site.read(found), "utf-8").startswith("\ufeff")  # so that the page's own claim does not count


def test_a_page_can_be_read_after_the_scan(web: Website) -> None:
    small(web)
    site = source(web)
    found = scan(web).found["a"]
    assert site.read(found) == web.pages["/docs/a"].body
    del web.pages["/docs/a"]
    assert isinstance(site.read(found), Skipped)


# ---------------------------------------------------------------- pages that a site calls otherwise later


def test_a_renamed_page_is_found(web: Website) -> None:
    small(web)
    first = scan(web, strategy="links")
    web.pages["/docs/new"] = web.pages.pop("/docs/a")
    web.pages["/docs/"] = page("Home", "new", "b/")
    again = scan(web, known=first.stamps, cursor=first.cursor, strategy="links")
    assert again.found.keys() == {"index", "new"}
    assert again.same["a"]  # with its first miss
    assert again.gone == set()


@pytest.mark.parametrize("before", [None, "/docs/a"])
def test_pages_that_were_missing_or_copies_are_found_later(web: Website, before: str | None) -> None:
    """The page that links to them answers 304, so that its links are not seen."""
    small(web)
    web.pages["/docs/"] = page("Home", "a", "b/", "later")
    web.pages |= {"/docs/later": web.pages[before]} if before else {}
    first = scan(web, strategy="links")
    assert "later" not in first.found
    second = scan(web, known=first.stamps, cursor=first.cursor, strategy="links")
    assert second.same.keys() == first.found.keys()
    web.pages["/docs/later"] = page("Later")
    third = scan(web, known=first.stamps, cursor=second.cursor, strategy="links")
    assert third.found.keys() == {"later"}
    assert third.same.keys() == first.found.keys()


def test_pages_that_robots_txt_allows_later_are_found(web: Website) -> None:
    small(web)
    rules = b"User-agent: *\nDisallow: /docs/b/\n"
    web.pages["/robots.txt"] = Answer(rules, type="text/plain")
    first = scan(web, strategy="links")
    assert first.found.keys() == {"index", "a"}
    web.pages["/robots.txt"] = Answer(b"# of today\n" + rules, type="text/plain")
    second = scan(web, known=first.stamps, cursor=first.cursor, strategy="links")
    assert (second.same.keys(), second.found) == (first.found.keys(), {})
    del web.pages["/robots.txt"]
    third = scan(web, known=first.stamps, cursor=second.cursor, strategy="links")
    assert third.found.keys() == {"index", "a", "b", "b/deep/c"}
    assert third.whole


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"max_depth": 1}, {"max_depth": 0}),
        ({"max_queries": 1}, {}),
        ({"media_types": {"text/html"}}, {"media_types": {"text/html", "application/x-notes"}}),
    ],
    ids=["depth", "parameters", "formats"],
)
def test_pages_that_other_settings_allow_are_found(web: Website, before: dict[str, Any], after: dict[str, Any]) -> None:
    web.pages |= {"/docs/": page("Home", "a", "q?x=1", "q?x=2", "notes"), "/docs/a": page("A", "deep")}
    web.pages |= {"/docs/deep": page("Deep"), "/docs/q?x=1": page("One"), "/docs/q?x=2": page("Two")}
    web.pages["/docs/notes"] = Answer(b"Notes", type="application/x-notes")
    first = scan(web, strategy="links", **before)
    again = scan(web, known=first.stamps, cursor=first.cursor, strategy="links", **after)
    assert len({*again.found, *again.same}) == len(first.found) + 1
