"""Sitemaps, good and bad."""

from __future__ import annotations

import gzip
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.source._sitemap import BadSitemap, Entry, read_sitemap, settled

SPACE = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)
MAP = f"""<?xml version="1.0" encoding="UTF-8"?><urlset {SPACE}>
<url><loc> https://h/a?x=1&amp;y=2 </loc><image:image><image:loc>https://h/i.png</image:loc></image:image>
<lastmod>2026-01-02</lastmod></url><url><loc>https://h/b</loc></url><url><lastmod>2026</lastmod></url></urlset>"""


def test_pages_have_addresses_and_dates() -> None:
    for content in (MAP.encode(), gzip.compress(MAP.encode()), b"\xef\xbb\xbf" + MAP.encode()):
        found = read_sitemap(content, 100_000)
        assert found.pages == [Entry("https://h/a?x=1&y=2", "2026-01-02"), Entry("https://h/b")]
        assert (found.sitemaps, found.cut) == ([], False)


def test_an_index_names_sitemaps() -> None:
    index = b"<sitemapindex><sitemap><loc>https://h/1.xml</loc></sitemap></sitemapindex>"
    assert read_sitemap(index, 1000).sitemaps == ["https://h/1.xml"]


def test_a_list_of_addresses_is_a_sitemap() -> None:
    assert read_sitemap(b"https://h/a\nhttps://h/b\n", 1000).pages == [Entry("https://h/a"), Entry("https://h/b")]


def test_entries_are_limited() -> None:
    for content in (MAP.encode(), b"https://h/a\nhttps://h/b\n"):
        found = read_sitemap(content, 100_000, room=1)
        assert (len(found.pages), found.cut) == (1, True)


@pytest.mark.parametrize(
    "content",
    [
        b'<!DOCTYPE a [<!ENTITY x "y">]><urlset><url><loc>https://h/&x;</loc></url></urlset>',
        '<!DOCTYPE a [<!ENTITY x "y">]><urlset/>'.encode("utf-16"),
        b'<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd">%x;]><urlset/>',
        b"<urlset>" + b"<x>" * 50,
        b"<html><url><loc>https://h/</loc></url></html>",
        b"<urlset><url><loc>https://h/</loc>",
        gzip.compress(bytes(10_000_000)),
        gzip.compress(MAP.encode())[:-20],
        b"\x1f\x8bxx",
        b"",
        b"hello",
    ],
)
def test_others_are_refused(content: bytes) -> None:
    with pytest.raises(BadSitemap):
        read_sitemap(content, 100_000)


@given(st.binary(max_size=200) | st.text("<>/urlseti cmap&;!ENTY[]\"'", max_size=80).map(str.encode))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with suppress(BadSitemap):
        read_sitemap(content, 10_000)


def test_a_date_is_settled_once_it_is_over() -> None:
    now = datetime(2026, 1, 10, 12, tzinfo=UTC)
    assert settled("2026-01-07", now)
    assert settled("2026-01-10T11:00:00Z", now)
    assert settled("2026-01-10T11:00:00", now)
    for lastmod in ("2026-01-10", "2026-01-09", "2026-01-10T11:59:30+00:00", "", "yesterday", "2026"):
        assert not settled(lastmod, now)
