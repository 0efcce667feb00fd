from __future__ import annotations

from typing import ClassVar

import pytest

from watersmeet.core.documents import Block, Document, Link
from watersmeet.core.indexing import Found, Parser
from watersmeet.core.place import Place
from watersmeet.parse.org import Org
from watersmeet.testing.contracts.parser import ParserContract

GUIDE = """:PROPERTIES:
:ID:       7f-12
:ROAM_ALIASES: "The Guide" Begin
:END:
#+TITLE: Guide
#+DATE: <2024-03-05 Tue>
#+AUTHOR: Ada
#+FILETAGS: :start:

See [[file:keys.org::*Rotate][Keys]] and [[id:8a-34][Other]].

# a comment
* TODO [#A] Ports :net:
  :LOGBOOK:
  CLOCK: [2024-03-05]
  :END:

  #+begin_src sh
  serve --port 7878

  * no heading
  #+end_src

| a | b |
|---+---|
| 1 | 2 |
** Below
text
"""


class TestContract(ParserContract):
    samples: ClassVar = {"guide.org": GUIDE.encode()}

    @pytest.fixture
    def parser(self) -> Parser:
        return Org()


def read(text: str) -> Document:
    (document,) = Org().parse(Found("notes/page.org", "/root/notes/page.org", "0"), text.encode())
    assert isinstance(document, Document)
    return document


def texts(text: str) -> list[str]:
    return [block.text for section in read(text).sections for block in section.blocks]


def test_a_note_has_sections_fields_tags_and_links():
    document = read(GUIDE)
    assert document.title == "Guide"
    assert [(s.headings, s.level, s.line) for s in document.sections] == [
        ((), 0, 10),
        (("Ports",), 1, 13),
        (("Ports", "Below"), 2, 27),
    ]
    assert document.fields == {"title": "Guide", "date": "2024-03-05", "author": "Ada"}
    assert document.created is not None
    assert document.tags == ("start", "net")
    assert "7f-12" in document.aliases
    assert "The Guide" in document.aliases
    assert document.links == (Link("keys.org", "markdown", "Rotate", "Keys"), Link("8a-34", "wiki", "", "Other"))
    assert document.sections[0].blocks == (Block("See Keys and Other.", Place((10, 10))),)
    assert document.sections[1].blocks == (
        Block("```sh\nserve --port 7878\n\n* no heading\n```", Place((18, 21))),
        Block("| a | b |\n|---|---|\n| 1 | 2 |", Place((24, 26))),
    )


def test_blocks():
    text = "#+BEGIN_QUOTE\nSaid.\n#+END_QUOTE\n\n#+begin_comment\nhidden\n#+end_comment\n\n: fixed\n: width\n\n[[https://a.b][Site]]"
    assert texts(text) == ["Said.", "```\nfixed\nwidth\n```", "[Site](https://a.b)"]


def test_a_block_that_is_not_closed_is_text():
    assert texts("#+begin_src sh\nls\n") == ["ls"]


@pytest.mark.parametrize(
    "text",
    ["#+begin_src\n" * 30_000, ":X:\n" * 30_000, "[[" * 50_000, "|" * 100_000, "*" * 100_000, "* \n" * 1000, ": \n:\n"],
    ids=range(7),
)
def test_odd_texts_are_read(text: str):
    read(text)
