from __future__ import annotations

import pytest

from watersmeet.core.documents import Block, Document
from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.place import Place
from watersmeet.parse.text import Text


def read(text: str, name: str) -> Document:
    (document,) = Text().parse(Found(name, f"/root/{name}", "0"), text.encode())
    assert isinstance(document, Document)
    return document


def test_paragraphs_are_blocks():
    document = read("\none\ntwo\n \n\n# three\n", "dir/notes.txt")
    assert (document.id, document.title, document.path) == ("dir/notes.txt", "notes", "/root/dir/notes.txt")
    (section,) = document.sections
    assert (section.headings, section.level, section.line) == ((), 0, 2)
    assert section.blocks == (Block("one\ntwo", Place((2, 3))), Block("# three", Place((6, 6))))


@pytest.mark.parametrize("name", ["page.txt", "paper.tex", "pyproject.toml", "setup.cfg", "tox.ini"])
def test_the_title_is_the_name(name: str):
    assert read("The title\n=========\n", name).title == name.partition(".")[0]


def test_the_settings_of_watersmeet_are_no_document():
    assert list(Text().parse(Found("docs/watersmeet.toml", "/docs/watersmeet.toml", "0"), b"[index]\n")) == []


def test_an_empty_file_has_no_sections():
    assert read(" \n\n", "x.txt").sections == ()


def test_binary_is_skipped():
    assert list(Text().parse(Found("x.txt", "/x.txt", "0"), b"\0\1\2")) == [Skipped("/x.txt", "binary")]
