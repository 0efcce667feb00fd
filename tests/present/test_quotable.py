"""Pieces of Markdown: what is quoted is what stands there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.present.quotable import MAX_PIECE, pieces


def texts(text: str) -> list[str]:
    return [piece.text for piece in pieces(text)]


def test_sentences_end_at_full_stops_and_not_at_abbreviations() -> None:
    assert texts("Bring rope, e.g. Two lines. Ask J. Doe! Is it 3.5 m? Yes.") == [
        "Bring rope, e.g. Two lines.",
        "Ask J. Doe!",
        "Is it 3.5 m?",
        "Yes.",
    ]
    assert texts("潮は六時に満ちる。船は待つ。") == ["潮は六時に満ちる。", "船は待つ。"]


def test_wrapped_lines_are_one_sentence_and_short_lines_are_not() -> None:
    wrapped = (
        "The ferry leaves from the northern pier at six in the morning and\nreturns at noon, unless the wind blows."
    )
    assert texts(wrapped) == [wrapped]
    assert texts("Google account\nPython 3\nGit") == ["Google account", "Python 3", "Git"]


def test_headings_are_not_quoted_but_remembered() -> None:
    found = pieces("# Harbour\n\nFirst.\n\nTides\n-----\n\nSecond.\n\n**Fees:**\n\nThird.\n")
    assert [(piece.headings, piece.text) for piece in found] == [
        ("Harbour", "First."),
        ("Tides", "Second."),
        ("Fees", "Third."),
    ]


def test_items_code_and_small_tables_are_quoted_as_they_are() -> None:
    code = "```sh\n# not a heading\ntide --now\n\n    indented\n```"
    table = "| port | fee |\n|---|---|\n| Skagen | 20 |"
    assert texts(f"- one rope\n  and a hook\n- two\n\n{code}\n\n{table}\n") == [
        "- one rope",
        "and a hook",
        "- two",
        code,
        table,
    ]
    assert [piece.kind for piece in pieces(f"1. a b\n\n{code}\n\n{table}\n\nText.")] == [
        "item",
        "code",
        "table",
        "paragraph",
    ]


def test_an_open_fence_ends_with_the_text() -> None:
    assert texts("Run:\n\n~~~\nmake\n# all\n") == ["Run:", "~~~\nmake\n# all"]


def test_a_large_table_is_quoted_by_rows_without_its_head() -> None:
    rows = [f"| port {number} | the fee is {number} |" for number in range(40)]
    assert texts("\n".join(["| port | fee |", "|---|---|", *rows])) == rows


def test_long_code_is_divided_between_lines() -> None:
    code = "```\n" + "\n".join(f"line {number}" for number in range(400)) + "\n```"
    found = texts(code)
    assert len(found) > 2
    assert "\n".join(found) == code
    assert max(map(len, found)) <= MAX_PIECE


@pytest.mark.parametrize(
    "noise",
    [
        "![map of the harbour](https://example.org/map.png)",
        "[Home](/) | [About](/about) | [Contact](/contact)",
        "https://example.org/a/very/long/address",
        "[1]: https://example.org/reference",
        '<a name="fees"></a>',
        "---",
        "***",
    ],
)
def test_bare_links_images_and_rules_are_left_out(noise: str) -> None:
    assert texts(f"{noise}\n\nThe fee is 20.\n\n{noise}\n") == ["The fee is 20."]


def test_links_inside_a_sentence_stay() -> None:
    sentence = "Read [the rules of the harbour](https://example.org/rules) before you moor."
    assert texts(sentence) == [sentence]


MARKS = st.sampled_from(
    "# - * > | ` ``` ~~~ . ! ? : \n \n\n \t \r\n \u2028 word Word 漢字。 1. [a](b) <b> --- é".split(" ")
)


@given(st.lists(MARKS | st.text(max_size=20), max_size=40).map(" ".join))
def test_pieces_are_parts_of_the_text_in_order(text: str) -> None:
    end = 0
    for piece in pieces(text):
        assert piece.start >= end
        assert text[piece.start : piece.end] == piece.text
        assert 0 < len(piece.text) <= MAX_PIECE
        end = piece.end


@pytest.mark.parametrize("part", ["[", "[a](", "<", "<!--", "**", "|", "`", "a.", "- ", "# ", "\n", "\n```", "!["])
def test_hostile_texts_take_linear_time(part: str) -> None:
    begin = time.monotonic()
    pieces(part * 50_000)
    assert time.monotonic() - begin < 20
