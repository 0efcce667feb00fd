from __future__ import annotations

from typing import ClassVar

import pytest

from watersmeet.core.documents import Block, Document, Link
from watersmeet.core.indexing import Found, Parser
from watersmeet.core.place import Place
from watersmeet.parse.rst import Rst
from watersmeet.testing.contracts.parser import ParserContract

GUIDE = """.. _start:

Guide
=====

:Author: Ada
:Tags: net, setup

See :doc:`keys`.

Ports
-----

An example::

    serve --port 7878

.. note:: Careful

   with it.

+---+---+
| a | b |
+===+===+
| 1 | 2 |
+---+---+
"""


class TestContract(ParserContract):
    samples: ClassVar = {
        "guide.rst": GUIDE.encode(),
        "plain.rst": "Kein Titel, nur Text: Möwen.\r\n\r\nZweiter Absatz.".encode(),
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Rst()


def read(text: str, name: str = "docs/page.rst") -> Document:
    (document,) = Rst().parse(Found(name, f"/root/{name}", "0"), text.encode())
    assert isinstance(document, Document)
    return document


def texts(text: str) -> list[str]:
    return [block.text for section in read(text).sections for block in section.blocks]


def test_a_page_has_sections_fields_tags_and_links():
    document = read(GUIDE)
    assert (document.id, document.title, document.path) == ("docs/page.rst", "Guide", "/root/docs/page.rst")
    assert [(s.headings, s.level, s.line) for s in document.sections] == [
        (("Guide",), 1, 3),
        (("Guide", "Ports"), 2, 11),
    ]
    assert document.fields == {"author": "Ada", "tags": "net, setup"}
    assert document.tags == ("net", "setup")
    assert document.aliases == ("start",)
    assert document.links == (Link("keys", "markdown"),)
    assert document.sections[1].blocks == (
        Block("An example:", Place((14, 14))),
        Block("```\nserve --port 7878\n```", Place((15, 16))),
        Block("Note: Careful\n\nwith it.", Place((18, 20))),
        Block("| a | b |\n|---|---|\n| 1 | 2 |", Place((22, 26))),
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The title\n=========\n\ntext", "The title"),
        ("=====\nTitle\n=====\n\ntext", "Title"),
        ("=======\n Title\n=======\n\ntext", "Title"),
        (":mod:`os` --- files\n===================\n", "os --- files"),
        ("Not a title\n\ntext", "page"),
        ("Too long a title\n==\n", "page"),
        ("", "page"),
        ("----\n\ntext", "page"),
    ],
)
def test_title(text: str, title: str):
    assert read(text).title == title


def test_levels_follow_the_order_of_the_marks():
    text = "A\n~~~\n\n===\nB\n===\n\nb\n\nC\n***\n\nD\n~~~\n\n===\nE\n===\n"
    found = [(s.level, s.headings[-1]) for s in read(text).sections]
    assert found == [(1, "A"), (2, "B"), (3, "C"), (1, "D"), (2, "E")]


def test_inline_markup_becomes_markdown():
    (text,) = texts(
        "See :ref:`the label <tut-x>`, :func:`~os.path.join`, ``x = 1``, `site <https://a.b>`_, `guide <../g.rst>`_,"
        " :pep:`8`, :py:meth:`Path.open` and `other`_."
    )
    assert text == (
        "See the label, `os.path.join`, `x = 1`, [site](https://a.b), [guide](../g.rst), PEP 8, `Path.open` and other."
    )


def test_links():
    text = "`a <x.rst>`_ :doc:`T </guide/y>` :ref:`z` `u <https://h/x>`_\n\n.. toctree::\n   :maxdepth: 1\n\n   one\n"
    text += "   Two <deep/two>\n   star*\n   self\n\n.. include:: ../common.rst\n"
    assert read(text).links == (
        Link("x.rst", "markdown", "", "a"),
        Link("/guide/y", "markdown", "", "T"),
        Link("z", "wiki"),
        Link("one", "markdown"),
        Link("deep/two", "markdown", "", "Two"),
        Link("../common.rst", "markdown"),
    )


def test_directives_keep_their_text_and_comments_do_not():
    text = """.. a comment
   of two lines

.. index:: single: word

.. function:: open(file, mode='r')
              open2(x)
   :noindex:

   Opens a file.

   .. versionadded:: 3.2
      The *x* parameter.

   .. code-block:: python
      :linenos:

      def f():
          pass

.. warning::

   Hot.

.. image:: x.png
   :alt: A picture of tides

.. [1] A footnote
   of two lines.

..

Text after an empty comment.
"""
    assert texts(text) == [
        "function open(file, mode='r')\nopen2(x)\n\nOpens a file.",
        "New in version 3.2:\nThe *x* parameter.",
        "```python\ndef f():\n    pass\n```",
        "Warning:\n\nHot.",
        "A picture of tides",
        "[1] A footnote\nof two lines.",
        "Text after an empty comment.",
    ]


def test_a_heading_in_a_literal_block_is_none():
    document = read("Title\n=====\n\nLike this::\n\n   Not a title\n   ===========\n\nEnd\n")
    assert [s.headings for s in document.sections] == [("Title",)]
    assert [b.text for b in document.sections[0].blocks] == ["Like this:", "```\nNot a title\n===========\n```", "End"]


def test_a_literal_block_of_a_list_item_ends_with_its_indentation():
    assert texts("- one::\n\n     code\n\n  still one\n\n- two\n") == ["- one:", "```\ncode\n```", "still one", "- two"]


def test_tables():
    simple = "===  =====\nA    B\n===  =====\n1    two\n     more\n3    four five\n===  ====="
    assert texts(simple) == ["| A | B |\n|---|---|\n| 1 | two more |\n| 3 | four five |"]
    listed = ".. list-table:: Title\n   :header-rows: 1\n\n   * - A\n     - B\n   * - 1\n     - 2\n       more\n"
    assert texts(listed) == ["Title\n\n| A | B |\n|---|---|\n| 1 | 2 more |"]
    comma = '.. csv-table::\n   :header: "A", "B"\n\n   1, "two, three"\n'
    assert texts(comma) == ["| A | B |\n|---|---|\n| 1 | two, three |"]


def test_a_table_with_spans_stays_as_it_is():
    table = "+---+---+\n| a | b |\n+---+---+\n| wide  |\n+---+---+"
    assert texts(f"x\n\n{table}\n\ny") == ["x", table, "y"]


@pytest.mark.parametrize(
    "text",
    [
        "== ==\n",
        "== ==\n" * 2000,
        "=\n" * 5000,
        "..\n" * 5000,
        ".. note::\n" * 3000,
        "::\n\n" * 3000,
        "".join(" " * n + ".. note::\n\n" for n in range(1000)),
        "+--+\n" * 3000,
        "`" * 100_000,
        ":a:" * 50_000,
        "x" * 3_000_000,
        ".. list-table::\n\n" + "   * - x\n" * 5000,
        '.. csv-table::\n\n   "' + "x\n   " * 5000,
        ".. csv-table::\n   :delim: toolong\n\n   a\n",
    ],
    ids=range(14),
)
def test_odd_texts_are_read(text: str):
    read(text)


def test_a_generated_file_is_plain_text_after_many_headings():
    document = read("".join(f"Title {n}\n=========\n\n" for n in range(20_010)))
    assert sum(section.level > 0 for section in document.sections) == 20_000
    assert document.warnings == ("too many headings or blocks: line 60001 and after is plain text",)
    assert "Title 20009" in document.sections[-1].blocks[-1].text


def test_lines_after_many_are_plain_text():
    document = read(("a\n" * 9 + "\n") * 30_000 + "The end\n=======\n")
    assert document.warnings == ("more than 300,000 lines: line 300001 and after is plain text",)
    assert document.sections[-1].blocks[-1] == Block("The end\n=======", Place((300_001, 300_002)))
