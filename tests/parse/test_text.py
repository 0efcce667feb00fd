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


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("The title\n=========\n\ntext", "page.rst", "The title"),
        ("=====\nTitle\n=====\n\ntext", "page.rst", "Title"),
        ("Not a title\n\ntext", "page.rst", "page"),
        ("x" * 101 + "\n" + "=" * 101, "page.rst", "page"),
        ("The title\n=========\n", "page.txt", "page"),
        ("", "page.rst", "page"),
    ],
)
def test_title(text: str, name: str, title: str):
    assert read(text, name).title == title


def test_an_empty_file_has_no_sections():
    assert read(" \n\n", "x.txt").sections == ()


def test_binary_is_skipped():
    assert list(Text().parse(Found("x.txt", "/x.txt", "0"), b"\0\1\2")) == [Skipped("/x.txt", "binary")]
