"""What of a document is indexed, besides its text."""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.core.documents import Chunk, Document
from watersmeet.core.model import ChunkId, DocId
from watersmeet.core.text_fields import MAX_DESCRIPTION, description, prepare


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, ""),
        ({"title": "Tides", "draft": True}, ""),
        ({"description": "On spring tides."}, "On spring tides."),
        ({"Description": "On tides.", "keywords": ["moon", "sun"]}, "On tides.\nmoon\nsun"),
        ({"author": {"name": "Ines Moreau", "email": "ines@example.org"}}, "Ines Moreau"),
        ({"authors": [{"name": "Ines"}, "Bo", {"email": "x"}, 7]}, "Ines\nBo"),
        ({"description": 42, "summary": None}, ""),
        ({"description": "x", "record": {"kind": "skill"}}, ""),
        ({"description": "x", "record": "of the year"}, "x"),
    ],
)
def test_descriptive_fields(fields: dict[str, Any], found: str) -> None:
    assert description(fields) == found


def test_a_long_description_is_cut() -> None:
    assert len(description({"description": "tide " * 10_000})) == MAX_DESCRIPTION


def test_they_are_indexed_with_the_first_chunk_alone() -> None:
    fields = {"description": "How the KMS-9 module works.", "author": "Ines Moreau"}
    document = Document(DocId("a.md"), "document", "Keys", "a.md", fields=fields)
    chunks = [Chunk(ChunkId(str(n)), DocId("a.md"), text) for n, text in enumerate(("Rotate them.", "Errors."))]
    first, second = prepare(document, chunks)
    assert {"moreau", "module"} <= set(first.fields["body"].split())
    assert "KMS-9" in first.fields["forms"].split()
    assert "moreau" not in second.fields["body"]
    assert first.chunk.text == "Rotate them."
    without = prepare(Document(DocId("a.md"), "document", "Keys", "a.md"), chunks)
    assert without[0].hash != first.hash
    assert without[1].hash == second.hash
