"""The terms of a corpus, kept beside the index and made again when they are gone."""

from __future__ import annotations

import dataclasses
import json
import time
import zlib

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


def test_names_with_digits_are_terms_and_numbers_and_hashes_are_not() -> None:
    text = "OAuth2 with sha256 to S3, 10px, k8s v1beta1; 42 0x7f 1970 d41d8cd98f00b204e9800998ecf8427e a b9 get_user2"
    found = {term for term, _ in vocabulary.gather([text])}
    assert {"oauth2", "sha256", "s3", "k8s", "v1beta1", "user2"} <= found
    assert not {"42", "10px", "px", "x7f", "1970", "oauth", "sha", "d41d8cd98f00b204e9800998ecf8427e", "a"} & found
    assert [term for term, _ in vocabulary.gather(["Schlüssel für OAuth2 über S3"])] == [
        "fur",
        "oauth2",
        "s3",
        *_FOLDED,
    ]


_FOLDED = ["schlussel", "uber"]


def test_many_terms_take_bounded_memory_and_frequent_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "MAX_COUNTED", 100)
    monkeypatch.setattr(vocabulary, "WINDOW", 10)
    texts = [f"estuary unique{chr(97 + n // 26)}{chr(97 + n % 26)} {'tide' if n % 2 else ''}" for n in range(600)]
    assert vocabulary.gather(texts)[:2] == [("estuary", 600), ("tide", 300)]
    assert len(vocabulary.gather(texts)) <= 110


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


def test_terms_of_added_chunks_are_added() -> None:
    terms = made("tide", "estuary")
    grown = terms.with_added([("estuary", 2), ("oauth2", 1)], 101, 1, 101)
    assert (grown.terms, grown.frequencies) == (["tide", "estuary", "oauth2"], [1, 3, 1])
    assert (grown.chunks, grown.last_row, grown.changes) == (101, 101, 1)
    assert vocabulary.decode(vocabulary.encode(grown)) == grown
    assert grown.vectors != terms.vectors
    same = terms.with_added([("estuary", 2)], 101, 1, 101)
    assert same.vectors == terms.vectors


def test_small_changes_add_up() -> None:
    terms = made("tide")  # of rows 1 to 100
    for number in range(1, 6):
        assert terms.is_current(100 + number, 1, "m")
        terms = terms.with_added([("tide", 1)], 100 + number, 1, 100 + number)
    assert terms.changes == 5
    assert not terms.is_current(106, 1, "m")


def test_the_rarest_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "MAX_TERMS", 2)
    terms = made("tide", "estuary").with_added([("oauth2", 3)], 103, 3, 103)
    assert (terms.terms, terms.frequencies) == (["oauth2", "estuary"], [3, 1])
    same = made("tide", "estuary").with_added([("oauth2", 1), ("tide", 2), ("estuary", 4)], 103, 3, 103)
    assert same.terms == ["tide", "estuary"]


def test_terms_of_an_older_version_are_used_until_the_next_sync() -> None:
    older = dataclasses.replace(made("tide"), version=1)
    values = {key: value for key, value in dataclasses.asdict(older).items() if key not in ("sum", "changes")}
    values["sum"] = zlib.crc32(repr(sorted(values.items())).encode())
    decoded = vocabulary.decode(json.dumps(values).encode())
    assert decoded is not None
    assert decoded.terms == ["tide"]
    assert not decoded.is_current(100, 0, "m")


def test_gathering_is_cheap() -> None:
    text = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26 % 26)} the estuary" for n in range(70))
    start = time.process_time()
    vocabulary.gather([text] * 5_000)
    assert time.process_time() - start < 1.5  # 26,000 chunks of Markdown take about 1 s
