"""The terms of a corpus, kept beside the index and made again when they are gone."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core import tokens, vocabulary


def test_the_most_frequent_terms_without_stop_words_and_numbers() -> None:
    texts = [
        "The tide and the estuary, 1042 km.",
        "Tide tables: is it how? ab",
        "Überflut der tide",
        "estuary",
    ]
    assert vocabulary.gather(texts) == [
        ("tide", 3),
        ("estuary", 2),
        ("der", 1),
        ("tables", 1),
        ("uberflut", 1),
    ]
    assert vocabulary.gather(texts, most=2) == [("tide", 3), ("estuary", 2)]
    assert vocabulary.gather([]) == []


@given(st.lists(st.text(max_size=40), max_size=5))
def test_every_term_is_a_word_of_a_text(texts: list[str]) -> None:
    for term, count in vocabulary.gather(texts):
        assert term not in tokens.QUESTION_WORDS
        assert not term.isdigit()
        assert count >= 1


def made(*terms: str, model: str = "m") -> vocabulary.Terms:
    return vocabulary.vocabulary([(term, 1) for term in terms], 100, 100, model)


def test_what_is_encoded_is_decoded() -> None:
    terms = made("tide", "estuary")
    written = vocabulary.encode(terms)
    assert vocabulary.decode(written) == terms
    assert (json.loads(written)["terms"], json.loads(written)["frequencies"]) == (["tide", "estuary"], [1, 1])
    assert vocabulary.decode(written.replace(b"tide", b"time")) is None


NAMED = b'{"terms": [], "frequencies": [], "chunks": 1, "last_row": 1, "model": "", "vectors": %b}'


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"[]", b"{}", b"\xff", NAMED % b'"../x"', NAMED % b'""', NAMED % b"7"]
)
def test_what_cannot_be_used_is_none(content: bytes | None) -> None:
    assert vocabulary.decode(content) is None


def test_other_terms_or_another_model_have_other_vectors() -> None:
    names = {made(*terms, model=model).vectors for terms, model in ((["a"], "m"), (["b"], "m"), (["a"], "n"))}
    assert len(names) == 3
    assert made("a").vectors == made("a").vectors


def test_it_is_current_until_enough_has_changed() -> None:
    terms = made("tide")  # of rows 1 to 100
    assert terms.is_current(100, 0, "m")
    assert terms.is_current(102, 2, "m")
    assert terms.is_current(99, 2, "m")
    assert not terms.is_current(100, 3, "m")
    assert not terms.is_current(94, 0, "m")
    assert not terms.is_current(100, 0, "n")


def test_gathering_is_cheap() -> None:
    text = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26 % 26)} the estuary" for n in range(70))
    start = time.process_time()
    vocabulary.gather([text] * 5_000)
    assert time.process_time() - start < 1.5  # 26,000 chunks of Markdown take about 1 s
