from __future__ import annotations

from typing import Any

import pytest

from published import BEIR, CARD, CATALOG, CONTEXT7, ENTRY, TOOL, read
from watersmeet.record.catalogue import Catalogue


@pytest.mark.parametrize("value", [CATALOG, ENTRY])
def test_it_knows_its_own(value: Any) -> None:
    assert Catalogue().knows(value)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, CONTEXT7, CARD, BEIR, TOOL])
def test_it_knows_no_other(value: Any) -> None:
    assert not Catalogue().knows(value)


def test_a_catalogue_with_bad_entries() -> None:
    brave, broken, empty = read(CATALOG)
    assert (brave.path, brave.name, brave.tags) == ("/brave", "Brave Search", ("web",))
    assert [tool.name for tool in brave.tools] == ["web_search", "news"]
    assert brave.metadata == {"category": "search"}
    assert (broken.record, broken.reason) == ("here (broken)", "`tools` is not a list")
    assert "object" in empty.reason


def test_an_entry_of_a_catalogue() -> None:
    (brave,) = read(ENTRY)
    assert (brave.path, brave.name, brave.metadata) == ("/brave", "Brave Search", {"category": "search"})
