from __future__ import annotations

from typing import ClassVar

import pytest

from watersmeet.core.documents import Block, Document, Link
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.core.place import Place
from watersmeet.parse.asciidoc import Asciidoc
from watersmeet.testing.contracts.parser import ParserContract

GUIDE = """= Guide
Ada <ada@x.org>
v1.2, 2024-03-05
:keywords: net, setup

See xref:keys.adoc#rotate[Keys] and <<other.adoc#,Other>>.

// a comment
== Ports

[source,sh]
----
serve --port 7878

== no heading
----

|===
|a |b

|1 |2
|===
"""


class TestContract(ParserContract):
    samples: ClassVar = {"guide.adoc": GUIDE.encode()}

    @pytest.fixture
    def parser(self) -> Parser:
        return Asciidoc()


def read(text: str) -> Document:
    (document,) = Asciidoc().parse(Found("docs/page.adoc", "/root/docs/page.adoc", "0"), text.encode())
    assert isinstance(document, Document)
    return document


def texts(text: str) -> list[str]:
    return [block.text for section in read(text).sections for block in section.blocks]


def test_a_page_has_sections_fields_tags_and_links():
    document = read(GUIDE)
    assert document.title == "Guide"
    assert [(s.headings, s.level, s.line) for s in document.sections] == [
        (("Guide",), 1, 1),
        (("Guide", "Ports"), 2, 9),
    ]
    assert document.fields == {
        "author": "Ada <ada@x.org>",
        "date": "2024-03-05",
        "version": "1.2",
        "keywords": "net, setup",
    }
    assert document.created is not None
    assert document.tags == ("net", "setup")
    assert document.links == (
        Link("keys.adoc", "markdown", "rotate", "Keys"),
        Link("other.adoc", "markdown", "", "Other"),
    )
    assert document.sections[0].blocks[0] == Block("See Keys and Other.", Place((6, 6)))
    assert document.sections[1].blocks == (
        Block("```sh\nserve --port 7878\n\n== no heading\n```", Place((12, 15))),
        Block("| a | b |\n|---|---|\n| 1 | 2 |", Place((18, 22))),
    )


def test_underlined_titles():
    document = read(
        "git-add(1)\n==========\n\nNAME\n----\ngit-add - Add\n\nOPTIONS\n-------\n--dry-run::\n\tNothing.\n"
    )
    assert [(s.level, s.headings[-1], s.line) for s in document.sections] == [
        (1, "git-add(1)", 1),
        (2, "NAME", 4),
        (2, "OPTIONS", 8),
    ]
    assert document.sections[2].blocks[0].text == "--dry-run::\n        Nothing."


def test_blocks():
    text = """.Title of a block
====
NOTE: Careful.
====

////
hidden
////

image::tides.png[Picture of tides]

include::part.adoc[]

https://a.b/c[Site] and link:x.html[here].

....
literal
....
"""
    assert texts(text) == [
        "Title of a block",
        "NOTE: Careful.",
        "Picture of tides",
        "[Site](https://a.b/c) and here.",
        "```\nliteral\n```",
    ]
    assert read(text).links == (Link("part.adoc", "markdown"), Link("x.html", "markdown", "", "here"))


def test_a_table_with_a_cell_a_line():
    assert texts("[%header,cols=2*]\n|===\n|a |b\n|1\n|2\n|3\n|4\n|===\n") == [
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    ]


def test_a_table_with_spans_stays_as_it_is():
    assert texts("|===\n|a |b\n2+|wide\n|===\n") == ["|a |b\n2+|wide"]


def test_a_signature_is_not_asciidoc():
    (skipped,) = Asciidoc().parse(Found("a.asc", "/a.asc", "0"), b"-----BEGIN PGP SIGNATURE-----\n\nabc\n")
    assert skipped == Skipped("/a.asc", "a key or a signature, not AsciiDoc")


@pytest.mark.parametrize(
    "text",
    [
        "```a\n" * 30_000,
        "----\n" * 3001,
        "|===\n" * 3001,
        "[" * 100_000,
        "<<" * 50_000,
        "xref:" * 50_000,
        "a\n+\n" * 9999,
    ],
    ids=range(7),
)
def test_odd_texts_are_read(text: str):
    read(text)
