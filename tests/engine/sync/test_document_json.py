from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from watersmeet.core.documents import Block, Document, Link, Section
from watersmeet.core.indexing import Skipped
from watersmeet.core.model import DocId
from watersmeet.core.place import Place
from watersmeet.engine.sync.document_json import NotADocument, decode, encode

DOCUMENT = Document(
    id=DocId("a/report.pdf"),
    kind="document",
    title="Möwen 🐦",
    path="/srv/a/report.pdf",
    sections=(
        Section((), 0, Place(pages=(1, 1)), (Block("First.", Place(pages=(1, 2))),)),
        Section(("One", "Two"), 2, Place(sheet="Budget"), (Block("| a |\n|---|"), Block("x", Place(lines=(3, 9))))),
        Section(("Slides",), 1, Place(slides=(4, 4))),
        Section(("There",), 1, Place(anchor="there")),
    ),
    modified=datetime(2026, 5, 1, 12, tzinfo=UTC),
    created=None,
    aliases=("R",),
    tags=("a/b",),
    fields={"author": "Ada", "pages": 3, "nested": {"list": [1, None, True]}},
    links=(Link("setup.md", "markdown", "ports", "see"),),
    warnings=("page 3 is scanned",),
)


def test_a_document_comes_back_as_it_was() -> None:
    assert decode(encode(DOCUMENT)) == DOCUMENT
    assert decode(encode(Skipped("/srv/x.pdf", "encrypted"))) == Skipped("/srv/x.pdf", "encrypted")


def test_text_that_no_store_takes_is_replaced() -> None:
    broken = Document(DocId("a"), "document", "half \ud83d a pair", "/a", (Section((), 0, blocks=(Block("a\0b"),)),))
    read = decode(encode(broken))
    assert isinstance(read, Document)
    assert read.title == "half ? a pair"
    assert read.sections[0].blocks[0].text == "a\ufffdb"


@pytest.mark.parametrize(
    "change",
    [
        {"id": 3},
        {"fields": []},
        {"sections": [["a"]]},
        {"sections": [[["a"], 1, [[5, 1], None, None, "", ""], []]]},
        {"sections": [[["a"], 1, None, [[None, None]]]]},
        {"links": [["a", "b", "c", "d", "e", "f"]]},
        {"modified": "yesterday"},
        {"warnings": None},
    ],
)
def test_what_is_no_document_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(NotADocument):
        decode(json.dumps({**json.loads(encode(DOCUMENT)), **change}).encode())


@pytest.mark.parametrize("payload", [b"", b"3", b"[]", b"null", b"{", b"[" * 100_000])
def test_other_json_is_refused(payload: bytes) -> None:
    with pytest.raises(NotADocument):
        decode(payload)
