"""Links of a page."""

from __future__ import annotations

import time

import pytest

from watersmeet.source._links import MAX_LINKS, PageLinks, links_of


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ('<a href="a">', ("a",)),
        ("<A\nclass=x HREF = 'a&amp;b' >", ("a&b",)),
        ("<a href=a><area href=b>", ("a", "b")),
        ('<a data-href="a"><abbr href="b"><a>', ()),
        ('<a rel="external nofollow" href="a"><a href="#x"><a href="mailto:a@b"><a href="JavaScript:x">', ()),
        ('<!-- <a href="a"> --><a href="b"><!-- <a href="c">', ("b",)),
        ('<SCRIPT>"<a href=a>"</SCRIPT><a href=b>', ("b",)),
        ('<meta http-equiv="Refresh" content="0; URL=latest/"><meta content="5;url=no">', ("latest/",)),
    ],
)
def test_links(text: str, links: tuple[str, ...]) -> None:
    assert links_of(text).links == links


def test_base_and_canonical() -> None:
    text = (
        '<base href="/b/"><link rel="stylesheet" href="s"><link href="/c" rel="x canonical"><link rel=canonical href=d>'
    )
    assert links_of(text) == PageLinks((), "/c", "/b/")


@pytest.mark.parametrize("part", ["<a ", "<a href=", "<!--", "<script>", "<a href='x", '<a href="y">', "<", "İ<script"])
def test_a_hostile_page_takes_no_long_time(part: str) -> None:
    start = time.process_time()
    found = links_of(part * 200_000)
    assert time.process_time() - start < 10
    assert len(found.links) <= MAX_LINKS
