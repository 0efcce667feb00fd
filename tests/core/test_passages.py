"""Texts of passages that rules may read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from watersmeet.core.entities import SERVER, VIRTUAL
from watersmeet.core.model import Passage
from watersmeet.core.passages import has_phrase, passage_text, passage_words
from watersmeet.core.place import Place

PASSAGE = Passage("c", "d", "document", "Team tools", "d", None, ("Mail",), Place((1, 1)), "Send a letter home.")


@pytest.mark.parametrize("kind", ["document", SERVER])
def test_title_headings_and_text(kind: str) -> None:
    passage = replace(PASSAGE, kind=kind)
    assert passage_text(passage) == "Team tools\nMail\nSend a letter home."
    assert passage_words(passage)[:3] == ["team", "tools", "mail"]
    assert has_phrase(passage, ["send", "a", "letter"])
    assert not has_phrase(passage, ["tools", "mail"])  # one in the title, one in a heading


def test_tools_of_a_virtual_server_are_not_read() -> None:
    passage = replace(PASSAGE, kind=VIRTUAL)
    assert "letter" not in passage_words(passage)
    assert not has_phrase(passage, ["a", "letter"])
    assert has_phrase(passage, ["team", "tools"])
