from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.core.documents import Block, Document, Link
from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.place import Place
from watersmeet.parse.jsonl import Jsonl

FOUND = Found("corpus.jsonl", "/root/corpus.jsonl", "0")


def read(*lines: str | dict[str, Any]) -> list[Document | Skipped]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return list(Jsonl().parse(FOUND, text.encode()))


def one(record: dict[str, Any]) -> Document:
    (document,) = read(record)
    assert isinstance(document, Document)
    return document


def test_a_record_is_a_document():
    blank, document, other = read(
        {"_id": "a", "title": "", "text": "t"},
        "",
        {
            "_id": "MED-1",
            "title": "A title",
            "text": "one\ntwo\n\nthree",
            "metadata": {"year": 1999, "tags": ["x", "#y"], "links": ["a", "b", "a"], "date": "2024-01-05"},
        },
        {"_id": 7, "title": "only a title"},
    )
    assert isinstance(blank, Document)
    assert blank.title == "a"
    assert isinstance(document, Document)
    assert (document.id, document.title, document.kind) == ("MED-1", "A title", "document")
    assert document.path == "/root/corpus.jsonl"
    assert document.sections[0].blocks == (Block("one\ntwo", Place((3, 3))), Block("three", Place((3, 3))))
    assert document.tags == ("x", "y")
    assert document.links == (Link("a", "related"), Link("b", "related"))
    assert document.fields["year"] == 1999
    assert document.modified is None
    assert document.created is not None
    assert isinstance(other, Document)
    assert (other.id, other.sections) == ("7", ())


def test_kind_comes_from_the_metadata():
    assert one({"_id": "a", "text": "t", "metadata": {"kind": "skill"}}).kind == "skill"


@pytest.mark.parametrize("metadata", [None, [], "x", {"tags": "x", "links": "y", "kind": 3}, {"links": [1]}])
def test_odd_metadata_does_no_harm(metadata: Any):
    document = one({"_id": "a", "text": "t", "metadata": metadata})
    assert (document.tags, document.links, document.kind) == ((), (), "document")


def test_markdown_in_a_record_has_sections_on_its_line():
    _, document = read({"_id": "0", "text": "x"}, {"_id": "1", "text": "intro #t [[L]]\n\n# A\n\na\n\n## B\n\nb"})
    assert isinstance(document, Document)
    assert [(s.headings, s.line) for s in document.sections] == [((), 2), (("A",), 2), (("A", "B"), 2)]
    assert {b.place.lines for s in document.sections for b in s.blocks} == {(2, 2)}
    assert (document.tags, document.links) == ((), ())


def test_plain_text_in_a_record_is_not_read_as_markdown():
    document = one({"_id": "1", "text": "Title\n===\n\n    code #x"})
    assert [block.text for block in document.sections[0].blocks] == ["Title\n===", "    code #x"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{not json", "not JSON: Expecting property name"),
        ("[" * 100_000, "not JSON"),
        ('{"_id": ' + "9" * 5000 + "}", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"text": "x"}', "no `_id`"),
        ('{"_id": "", "text": "x"}', "no `_id`"),
        ('{"_id": true, "text": "x"}', "no `_id`"),
        ('{"_id": "a"}', "neither a title nor a text"),
        ('{"_id": "a", "text": 5}', "`text` is not a text"),
        ('{"_id": "good", "text": "again"}', "the id 'good' is already used in line 1"),
    ],
)
def test_a_bad_line_is_skipped_and_the_rest_is_read(line: str, reason: str):
    first, skipped, last = read({"_id": "good", "text": "x"}, line, {"_id": "fine", "text": "y"})
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert isinstance(skipped, Skipped)
    assert skipped.path == "/root/corpus.jsonl:2"
    assert skipped.reason.startswith(reason)


def test_another_kind_of_jsonl_is_given_up_early():
    skipped = read(*({"event": n} for n in range(5000)))
    assert len(skipped) == 101
    assert skipped[-1] == Skipped("/root/corpus.jsonl", "no record in the first 100 lines; the rest was not read")


def test_half_a_surrogate_pair_and_nul_are_replaced():
    document = one({"_id": "a\ud800", "title": "t\0", "text": "x\udfff", "metadata": {"k\ud800": "\ud83d\ude00"}})
    for text in (document.id, document.title, document.sections[0].blocks[0].text, *document.fields):
        assert "\0" not in text
        text.encode()
    assert list(document.fields.values()) == ["😀"]


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["_id", "title", "text", "metadata", "tags"]), inner, max_size=4)
            ),
            max_leaves=10,
        ),
        max_size=5,
    )
)
def test_any_json_gives_a_document_or_a_reason(values: list[Any]):
    found = read(*(json.dumps(value) for value in values))
    assert len(found) == len(values)
    for document in found:
        if isinstance(document, Document):
            json.dumps(document.fields, allow_nan=False).encode()
