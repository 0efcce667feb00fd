"""Texts of passages that rules may read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.entities import SERVER, VIRTUAL
from watersmeet.core.model import Passage
from watersmeet.core.passages import has_phrase, has_word, in_section, passage_text, passage_words, section_name
from watersmeet.core.place import Place

PASSAGE = Passage("c", "d", "document", "Team tools", "d", None, ("Mail",), Place((1, 1)), "Send a letter home.")


@pytest.mark.parametrize("kind", ["document", SERVER])
def test_title_headings_and_text(kind: str) -> None:
    passage = replace(PASSAGE, kind=kind)
    assert passage_text(passage) == "Team tools\nMail\nSend a letter home."
    assert passage_words(passage)[:3] == ["team", "tools", "mail"]
    assert has_phrase(passage, ["send", "a", "letter"])
    assert not has_phrase(passage, ["tools", "mail"])  # one in the title, one in a heading


@given(st.text("aAbB19_-.:/@'#+ \n\x1f\u00e9", max_size=30), st.text("ab19\u00e9", max_size=3))
def test_a_word_is_found_as_among_all_words(text: str, other: str) -> None:
    passage = replace(PASSAGE, title="", text=text)
    present = passage_words(passage)
    assert all(has_word(passage, word) for word in present)
    assert has_word(passage, other) == (other in present)


def test_tools_of_a_virtual_server_are_not_read() -> None:
    passage = replace(PASSAGE, kind=VIRTUAL)
    assert "letter" not in passage_words(passage)
    assert not has_phrase(passage, ["a", "letter"])
    assert has_phrase(passage, ["team", "tools"])


SECTION = replace(
    PASSAGE,
    document="a#b.md",
    headings=("Mail", "`send()` letters"),
    text="How to send.\n\nStamps\n\nOne for each letter.\n\nForeign stamps\n\nTwo for each.",
)


@pytest.mark.parametrize(
    "name",
    [
        "a#b.md#Mail > `send()` letters",
        "a#b.md#send() letters",  # signs do not matter, and higher headings may be left out
        "a#b.md#Mail > send() letters > Stamps",  # a small section in the passage of its parent
        "a#b.md#Stamps > Foreign stamps",
        section_name(SECTION),
    ],
)
def test_a_passage_is_in_the_sections_whose_text_it_has(name: str) -> None:
    assert in_section(SECTION, name)


@pytest.mark.parametrize(
    "name",
    ["a#b.md", "a#b.md#", "a#b.md#Mail", "b.md#Mail > send() letters", "a#b.md#Parcels > Stamps", "a#b.md#How"],
)
def test_a_passage_is_in_no_other_section(name: str) -> None:
    assert not in_section(SECTION, name)


def test_the_text_before_the_first_heading_is_a_section_without_a_name() -> None:
    assert in_section(replace(PASSAGE, headings=()), "d#")
    assert not in_section(PASSAGE, "d#")
