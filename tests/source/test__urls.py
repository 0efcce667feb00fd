"""Addresses of pages: one spelling, and no way out of the site."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.source._urls import MAX_URL, Scope, is_trap, tidy

SITE = Scope("https://example.org/docs/")
LINKS = st.text(st.sampled_from("ab/.?#%&=2f \\é:@;\n") | st.characters(), max_size=40)


@pytest.mark.parametrize(
    ("link", "tidied"),
    [
        ("HTTPS://EXAMPLE.org:443/docs/%7Ea/%e9?b=2&a=1#x", "https://example.org/docs/~a/%E9?a=1&b=2"),
        ("/docs/a;jsessionid=1F?gclid=x&UTM_medium=y", "https://example.org/docs/a"),
        ("a/%2E%2E/./b//c", "https://example.org/docs/b/c"),
        ("/../../a%2Fb", "https://example.org/a%2Fb"),
        ("http://user:secret@bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[::1]:8000/x", "http://[::1]:8000/x"),
        *((other, "") for other in ("mailto:a@b", "javascript:x", "ftp://example.org/", "http://[", "//a b/")),
    ],
)
def test_a_link_has_one_spelling(link: str, tidied: str) -> None:
    assert tidy(link, SITE.base) == tidied


@given(LINKS)
def test_a_tidy_address_stays_as_it_is(link: str) -> None:
    found = tidy(link, SITE.base)
    assert tidy(found) == found
    assert not found or found.isascii()


@given(LINKS)
def test_a_page_is_below_the_path_and_has_one_name(link: str) -> None:
    page = SITE.page(link, SITE.base)
    if page is not None:
        assert f"{page.url}/".startswith(SITE.base)
        assert page.name
        assert not {"..", "."} & {*page.name.partition("?")[0].split("/")}
        again = SITE.page(page.url)
        assert again == page
        named = SITE.page(SITE.url(page.name))
        assert named is not None
        assert named.name == page.name


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ("https://example.org/docs", "index"),
        ("http://example.org/docs/index.htm", "index"),
        ("guide/INDEX.html", "guide"),
        ("guide/", "guide"),
        ("%C3%BCber%20uns", "über uns"),
        ("a%2Fb", "a%2Fb"),
        ("x?b&a=1", "x?a=1&b="),
        *(
            (other, "")
            for other in ("/docs2", "/", "//example.com/docs/a", "https://example.org:8443/docs/", "../docs/../x")
        ),
    ],
)
def test_names(link: str, name: str) -> None:
    page = SITE.page(link, SITE.base)
    assert (page.name if page else "") == name


def test_traps() -> None:
    assert not is_trap("https://example.org/api/v1/api/v1/api?a=1&b=2")
    for url in ("/a/b" * 4, "/x" * 3 + "/y" * 18, f"/{'x' * MAX_URL}", f"?q={'x' * 400}", "?" + "&".join("abcdefg")):
        assert is_trap(f"https://example.org{url}")


def test_dates_of_a_calendar_look_alike() -> None:
    def pattern(path: str) -> str:
        page = SITE.page(path, SITE.base)
        assert page
        return page.pattern

    assert pattern("calendar/2026/11") == pattern("calendar/2031/01") != ""
    assert pattern("day-20261118") == pattern("day-20270101") != ""
    assert pattern("log/2026-11-18") == pattern("log/1999-01-01") != ""
    assert pattern("page-12") == pattern("v3.12/x") == pattern("issues/20261") == ""
