"""A Markdown text as the parser reads it, and what the tests look at."""

from __future__ import annotations

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.parse.markdown import Markdown


def read(text: str | bytes, name: str = "folder/My note.md") -> Document:
    content = text.encode() if isinstance(text, str) else text
    (document,) = Markdown().parse(Found(name, f"/root/{name}", "0"), content)
    assert isinstance(document, Document)
    return document


def headings(document: Document) -> list[tuple[str, ...]]:
    return [section.headings for section in document.sections]


def all_text(document: Document) -> str:
    return "\n".join(block.text for section in document.sections for block in section.blocks)
