from __future__ import annotations

from watersmeet.core.documents import Document
from watersmeet.core.facets import facets_of, tag_names
from watersmeet.core.model import DocId


def test_what_can_be_filtered_by() -> None:
    fields = {"Draft": True, "n": 3, "list": ["A", 1.5, {"no": 1}], "none": None, "long": "x" * 300}
    document = Document(DocId("a"), "document", "A", "/a", tags=("Tag",), fields=fields)
    assert set(facets_of(document)) == {("tag", "tag"), ("draft", "true"), ("n", "3"), ("list", "a"), ("list", "1.5")}


def test_a_tag_is_found_however_it_is_written() -> None:
    assert tag_names("#Area/Keys/") == ["#area/keys/", "area/keys"]
    assert tag_names("#") == ["#"]
