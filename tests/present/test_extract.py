"""Extractive answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from watersmeet.present.extract import extract


@dataclass
class Plain:
    text: str


@dataclass
class Titled(Plain):
    title: str = ""
    headings: tuple[str, ...] = ()


LAKE = Plain("The lake is cold. It freezes in January. Boats stay on land until the ice is gone.")
PIER = Plain("Tickets are sold at the pier. Children travel free. Boats leave at six.")


def quoted(question: str, *passages: Plain, most: int = 1) -> list[tuple[int, str]]:
    return [(quote.passage, quote.text) for quote in extract(question, passages, most=most)]


def test_the_sentence_that_answers_is_quoted_verbatim() -> None:
    assert quoted("When does the lake freeze?", LAKE, PIER) == [(0, "It freezes in January.")]
    assert quoted("Do children pay?", LAKE, PIER) == [(1, "Children travel free.")]


def test_quotes_keep_the_order_of_the_passages() -> None:
    found = extract("boats on land and boats that leave", [PIER, LAKE], most=3)
    assert [quote.passage for quote in found] == sorted(quote.passage for quote in found)
    assert all(0 < quote.score <= 1 for quote in found)
    assert len(extract("boats", [PIER, LAKE, PIER], most=2)) == 2


def test_equal_sentences_are_quoted_once() -> None:
    assert quoted("Do children travel free?", PIER, PIER, most=3).count((0, "Children travel free.")) == 1
    assert (1, "Children travel free.") not in quoted("Do children travel free?", PIER, PIER, most=3)


def test_the_answer_follows_the_question() -> None:
    faq = Plain("Can I bring a dog on board? Yes, if it is small. Bicycles are not allowed.")
    assert quoted("Can I bring a dog?", faq) == [(0, "Yes, if it is small.")]


def test_the_title_counts_for_the_whole_passage() -> None:
    first = Titled("Pay at the office. Open until five.", title="Parking at the airport")
    second = Titled("Pay at the machine. Open all night.", title="Parking at the harbour")
    assert quoted("Where do I pay for parking at the harbour?", first, second) == [(1, "Pay at the machine.")]


def test_headings_in_the_text_count_and_are_not_quoted() -> None:
    passage = Plain("## Fees\n\nIt costs 20 crowns.\n\n## Opening hours\n\nFrom six until noon.\n")
    assert quoted("What are the opening hours?", passage) == [(0, "From six until noon.")]


def test_what_a_sentence_introduces_is_quoted_with_it() -> None:
    code = "Reset the gauge with this command:\n\n```sh\ngauge --reset\n```"
    assert quoted("How do I reset the gauge?", Plain(f"The gauge is old.\n\n{code}\n\nThen wait.")) == [(0, code)]
    steps = "To reset the gauge:\n\n- open the lid\n- press the button"
    assert quoted("How do I reset the gauge?", Plain(f"{steps}\n\nThen wait.")) == [(0, steps)]


def test_rare_words_count_more() -> None:
    passage = Plain("The server needs a key. The server needs a disk. The server needs a capstan. The server starts.")
    assert quoted("Does the server need the capstan?", passage) == [(0, "The server needs a capstan.")]


def test_without_a_common_word_the_beginning_is_quoted() -> None:
    (quote,) = extract("Wie spät ist es?", [LAKE, PIER])
    assert (quote.passage, quote.text, quote.score) == (0, "The lake is cold.", 0)


def test_similarity_decides_where_words_do_not() -> None:
    def similarity(_: str, texts: Sequence[str]) -> list[float]:
        return [0.9 if "freezes" in text else -0.1 for text in texts]

    found = extract("Wann friert er zu?", [LAKE, PIER], similarity=similarity)
    assert [(quote.passage, quote.text) for quote in found] == [(0, "It freezes in January.")]


def test_nothing_to_quote() -> None:
    assert extract("What?", []) == []
    assert extract("What?", [Plain(""), Plain("# Title\n\n---\n")]) == []
    assert extract("What?", [LAKE], most=0) == []
    assert extract("", [LAKE])[0].text == "The lake is cold."


@given(st.text(max_size=60), st.lists(st.text(max_size=300), max_size=4), st.integers(0, 5))
def test_any_texts(question: str, texts: list[str], most: int) -> None:
    passages = [Plain(text) for text in texts]
    found = extract(question, passages, most=most)
    assert len(found) <= most
    assert found == extract(question, passages, most=most)
    for quote in found:
        assert quote.text
        assert quote.text in texts[quote.passage]
        assert 0 <= quote.score <= 1
