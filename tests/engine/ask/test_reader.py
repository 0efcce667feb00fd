"""The reader of a reply: statements, citations and links, however the reply is cut into pieces."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.engine.ask.checker import Checker, Evidence
from watersmeet.engine.ask.reader import LINK_REMOVED, MARK, AnswerReader, links_of, neutral, without_links

PASSAGES = [
    Evidence("Keys are rotated every quarter. See https://docs.example/keys for more."),
    Evidence("Backups are made at night. They are kept for 30 days."),
]


def read(reply: str, *, cuts: int = 0, links: frozenset[str] = frozenset()) -> tuple[str, AnswerReader]:
    reader = AnswerReader(PASSAGES, Checker(), links)
    chance = random.Random(cuts)  # noqa: S311 - to be repeatable
    ends = [*sorted(chance.sample(range(len(reply)), min(cuts, len(reply)))), len(reply)]
    shown = "".join(reader.feed(reply[start:end]) for start, end in zip([0, *ends], ends, strict=False))
    return shown + reader.finish(), reader


def test_checked_and_unchecked_citations() -> None:
    text, reader = read("Keys are rotated every quarter [1]. Backups are made at noon [2]. Keys are rotated daily [7].")
    assert text == "Keys are rotated every quarter [1]. Backups are made at noon [2?]. Keys are rotated daily [7?]."
    assert [(one.citations, one.checked) for one in reader.statements] == [((1,), True), ((2,), False), ((7,), False)]
    assert "not among the passages" in reader.statements[2].reason


@pytest.mark.parametrize(
    "reply",
    [
        "Keys are rotated every quarter. [1]",
        "Keys are rotated every quarter [1, 2].",
        "Keys are rotated every quarter [1][2].",
    ],
)
def test_other_ways_to_cite(reply: str) -> None:
    text, reader = read(reply)
    assert len(reader.statements) == 1
    assert "[1]" in text
    assert ("[2?]" in text) is ("2" in reply)


def test_a_statement_without_a_citation_gets_the_passage_that_supports_it() -> None:
    text, reader = read("Backups are kept for 30 days. Pigs can fly.")
    assert text == "Backups are kept for 30 days. [2] Pigs can fly."
    assert [(one.citations, one.checked) for one in reader.statements] == [((2,), True), ((), False)]


def test_a_lead_in_and_a_list() -> None:
    text, reader = read("Yes.\n\n1. Keys are rotated every quarter [1].\n2. Backups are made at night [2].\n")
    assert [one.checked for one in reader.statements] == [True, True]
    assert text.startswith("Yes.\n\n1. Keys")


@given(st.integers(0, 60))
def test_pieces_do_not_change_the_answer(cuts: int) -> None:
    reply = (
        "Keys are rotated every quarter [1]. Backups are made at night. [2] See [here](https://evil.example/?q=1) or "
        "https://evil.example e.g. now!\n\n- Backups are kept for 90 days [2]\n- Keys, too [1]"
    )
    whole, reader = read(reply)
    again, other = read(reply, cuts=cuts)
    assert again == whole
    assert other.statements == reader.statements


def test_links_that_are_not_in_the_pack_are_removed() -> None:
    links = links_of(PASSAGES[0].text)
    reply = (
        "Keys: https://docs.example/keys, [more](https://evil.example/a), <https://evil.example/b>, www.evil.example, "
        'javascript:alert(1), ![x](https://evil.example/c.png) <a href="https://evil.example/d">d</a> [1].'
    )
    text, _ = read(reply, links=links)
    assert "https://docs.example/keys" in text
    assert "evil" not in text
    assert "alert" not in text
    assert LINK_REMOVED in text


def test_a_longer_address_than_that_of_the_pack_is_another_one() -> None:
    links = links_of(PASSAGES[0].text)
    assert without_links("https://docs.example/keys?secret=42", links) == LINK_REMOVED
    assert without_links("[k](https://docs.example/keys)", links) == "[k](https://docs.example/keys)"


def test_documents_cannot_forge_citations() -> None:
    text = neutral("as [1] says, see [2, 3], a[4] and [link](x) and [5?]")
    assert text == "as \\[1] says, see \\[2, 3], a\\[4] and [link](x) and \\[5?]"
    assert not MARK.search(text)


def test_a_very_long_statement_is_passed_on() -> None:
    reader = AnswerReader(PASSAGES, Checker())
    assert reader.feed("word " * 2000)
