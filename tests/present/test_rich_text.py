"""A text becomes a tree of allowed elements, whatever it says."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_markdown import HOSTILE
from watersmeet.present.rich_text import MAX_DEPTH, NAMES, Passage, form_of, rich_text, slug

ATTRIBUTES = {"class", "id", "href", "document", "anchor", "start", "label"}


def find(target: str, type: str) -> str | None:
    return None if "missing" in target else f"{target.removesuffix('.md')}.md"


def tree(text: str, form: str = "markdown", **more: Any) -> list[Any]:
    return rich_text(text, form, find, **more)


def elements(nodes: list[Any]) -> Iterator[list[Any]]:
    for node in nodes:
        if isinstance(node, list):
            yield node
            yield from elements(node[2:])


def text_of(nodes: list[Any]) -> str:
    return "".join(node if isinstance(node, str) else text_of(node[2:]) for node in nodes)


def check(nodes: list[Any]) -> None:
    for name, about, *inside in elements(nodes):
        assert name in NAMES
        assert about.keys() <= ATTRIBUTES, about
        assert re.fullmatch(r"(https?://|mailto:)\S+", about.get("href", "https://x"), re.IGNORECASE)
        assert re.fullmatch(r"[a-z -]*", about.get("class", ""))
        assert all(isinstance(one, str | list) for one in inside)
    json.dumps(nodes)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("form", ["markdown", "plain", "code"])
def test_what_is_hostile_is_text(text: str, form: str) -> None:
    check(tree(text, form))
    check(rich_text(text, form))


@given(st.text(st.sampled_from("<>[]()!*_`~#|-=%&;:\"'/\\ \n^aA1é\u202escriptonhrefjavascript")))
def test_any_text_is(text: str) -> None:
    for form in ("markdown", "plain", "code"):
        check(tree(text, form))


def test_enough_cases() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 40


def test_what_markdown_means() -> None:
    assert tree("a **b** *c* ~~d~~ `e`") == [
        ["p", {}, "a ", ["strong", {}, "b"], " ", ["em", {}, "c"], " ", ["del", {}, "d"], " ", ["code", {}, "e"]]
    ]
    assert tree("## A b!\n\n## A b!") == [["h2", {"id": "a-b"}, "A b!"], ["h2", {"id": "a-b-1"}, "A b!"]]
    assert tree("3. x\n4. y") == [["ol", {"start": 3}, ["li", {}, "x"], ["li", {}, "y"]]]
    assert tree("```py\na == b\n```") == [["pre", {"class": "code"}, "a == b\n"]]
    assert tree("|a|b|\n|-|-:|\n|1|2|") == [
        [
            "table",
            {},
            ["thead", {}, ["tr", {}, ["th", {}, "a"], ["th", {"class": "to-right"}, "b"]]],
            ["tbody", {}, ["tr", {}, ["td", {}, "1"], ["td", {"class": "to-right"}, "2"]]],
        ]
    ]


def test_what_obsidian_means() -> None:
    assert tree("- [ ] a\n- [x] b")[0][2:] == [
        ["li", {}, ["span", {"class": "task open", "label": "to do"}], "a"],
        ["li", {}, ["span", {"class": "task done", "label": "done"}], "b"],
    ]
    assert tree("a ==b== %%c%% d")[0][2:] == ["a ", ["mark", {}, "b"], "  d"]
    assert text_of(tree("a\n\n%%\nhidden\n\nstill\n%%\n\nb")) == "ab"
    assert text_of(tree("100%% sure, and more")) == "100%% sure, and more"  # a comment ends
    assert tree("> [!tip] Try *this*\n> now") == [
        [
            "div",
            {"class": "callout tip"},
            ["p", {"class": "callout-title"}, "Try ", ["em", {}, "this"]],
            ["p", {}, "now"],
        ]
    ]
    assert tree("> [!odd]-\n> now") == [
        ["details", {"class": "callout note"}, ["summary", {}, "Odd"], ["p", {}, "now"]]
    ]
    assert tree("Said. ^point")[0] == ["p", {"id": "^point"}, "Said."]


def test_links_lead_to_documents_addresses_or_nowhere() -> None:
    (paragraph,) = tree(
        "[[Note]] [[Note#A b|c]] [[#Here]] [d](e.md#f%20g) [h](https://x.org/) [i](missing.md) [[missing|j]] [k](tel:1)"
    )
    found = [(one[0], one[1], text_of(one[2:])) for one in elements([paragraph]) if one[0] != "p"]
    assert found == [
        ("a", {"document": "Note.md"}, "Note"),
        ("a", {"document": "Note.md", "anchor": "a-b"}, "c"),
        ("a", {"anchor": "here"}, "#Here"),
        ("a", {"document": "e.md", "anchor": "f-g"}, "d"),
        ("a", {"href": "https://x.org/"}, "h"),
        ("span", {"class": "dead"}, "i"),
        ("span", {"class": "dead"}, "j"),
        ("span", {"class": "dead"}, "k"),
    ]
    assert tree("[a](missing/b)", base="https://x.org/c/")[0][2] == ["a", {"href": "https://x.org/c/missing/b"}, "a"]
    assert rich_text("[a](b.md)", "markdown")[0][2] == ["span", {"class": "link-text"}, "a"]  # of a snippet


def test_pictures_are_named_and_not_shown() -> None:
    (paragraph,) = tree("![A chart](https://x.org/a.png) ![](missing/b.png)")
    assert paragraph[2] == ["a", {"href": "https://x.org/a.png"}, ["span", {"class": "picture"}, "A chart"]]
    assert paragraph[4] == ["span", {"class": "dead"}, ["span", {"class": "picture"}, "b.png"]]


def test_html_is_read_where_it_is_harmless() -> None:
    assert tree("Press <kbd>K</kbd><br>or <your-key>")[0][2:] == [
        "Press ",
        ["kbd", {}, "K"],
        ["br", {}],
        "or <your-key>",
    ]
    assert tree("a <b>b")[0][2:] == ["a ", ["b", {}, "b"]]  # left open
    assert text_of(tree("<div>\n<!-- no\nno -->\n<p>yes</p>\n</div>")).strip() == "yes"
    assert ["a", {"document": "b.md"}, "x"] in list(elements(tree('<p><a href="b.md">x</a></p>')))


def test_the_blocks_of_a_passage_are_together() -> None:
    text = "# Ä\n\nöne\n\ntwo\n\n- three\n\nfour"
    start = text.index("two")
    found = tree(text, passage=Passage(start, text.index("\n\nfour")))
    assert [node[0] for node in found] == ["h1", "p", "div", "p"]
    assert found[2] == ["div", {"class": "passage"}, ["p", {}, "two"], ["ul", {}, ["li", {}, "three"]]]
    assert text_of(tree("a\n\nb\n\nc", "plain", passage=Passage(3, 4))[1:2]) == "b"
    assert tree("a\nb\nc", "code", passage=Passage(2, 3))[1] == [
        "div",
        {"class": "passage"},
        ["pre", {"class": "code"}, "b\n"],
    ]


def test_plain_text_keeps_its_lines() -> None:
    found = tree("# Part\n\none\n  two *x*\n\n```\ncode\n```\nthree", "plain")
    assert found == [
        ["h1", {"id": "part"}, "Part"],
        ["p", {"class": "lines"}, "one\n  two *x*"],
        ["pre", {"class": "code"}, "code"],
        ["p", {"class": "lines"}, "three"],
    ]


def test_nothing_of_a_text_is_lost() -> None:
    assert "deep" in text_of(tree("> " * 500 + "deep"))
    assert "end" in text_of(tree("*a* " * 200_000 + "\n\nend"))
    deepest = max(_depth(node) for node in tree("> " * 500 + "x"))
    assert deepest <= MAX_DEPTH


def _depth(node: Any) -> int:
    return 1 + max(map(_depth, node[2:]), default=0) if isinstance(node, list) else 0


@pytest.mark.parametrize(
    "part", ["<!--", "<a ", '<a x="', "<b>", "[[", "![", "*a", "%%", "==", "> ", "- ", "<", "&", "|", "[!x]"]
)
def test_a_long_text_takes_time_in_proportion(part: str) -> None:
    def seconds(times: int) -> float:
        start = time.process_time()
        json.dumps(tree(part * times))
        return time.process_time() - start

    seconds(10)
    short, long = seconds(3_000), seconds(24_000)
    assert long < max(0.5, 40 * short)


@pytest.mark.parametrize(
    ("kind", "document", "path", "form"),
    [
        ("document", "a.md", "/a.md", "markdown"),
        ("document", "a.PDF", "/a.PDF", "plain"),
        ("document", "x.org/guide", "https://x.org/guide", "markdown"),
        ("document", "notes.txt", "/notes.txt", "plain"),
        ("code", "a.py", "/a.py", "code"),
        ("email", "a.eml", "/a.eml", "plain"),
        ("mcp_server", "/a", "", "plain"),
    ],
)
def test_how_a_text_is_written(kind: str, document: str, path: str, form: str) -> None:
    assert form_of(kind, document, path) == form


def test_anchors_are_as_sites_make_them() -> None:
    assert slug("What's *new* in 2.0?") == "whats-new-in-20"
    assert slug("Über uns") == "über-uns"
