"""The terms of a corpus, kept beside the index and made again when they are gone."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core import tokens
from watersmeet.embed.static import Static
from watersmeet.store.local import vocabulary


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
        assert term not in tokens.ASKING
        assert not term.isdigit()
        assert count >= 1


def saved(folder: Path, *terms: str, model: str = "m") -> vocabulary.Terms:
    return vocabulary.save(str(folder), [(term, 1) for term in terms], 100, 100, model)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    made = saved(tmp_path, "tide", "estuary")
    assert vocabulary.load(str(tmp_path)) == made
    written = json.loads((tmp_path / "concept_vocabulary.json").read_text("utf8"))
    assert (written["terms"], written["frequencies"]) == (["tide", "estuary"], [1, 1])
    assert written["vectors"] == made.vectors


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"terms": [], "frequencies": [], "chunks": 1, "last_row": 1, "model": "", "vectors": "../x"}',
    ],
)
def test_what_cannot_be_used_is_none(tmp_path: Path, content: str) -> None:
    assert vocabulary.load(str(tmp_path)) is None
    (tmp_path / "concept_vocabulary.json").write_text(content, "utf8")
    assert vocabulary.load(str(tmp_path)) is None


def test_vectors_are_made_once_and_again_when_lost_or_broken(tmp_path: Path) -> None:
    model, made = Static(), saved(tmp_path, "tide", "estuary", "invoice")
    first = vocabulary.vectors(str(tmp_path), made, model)
    path = tmp_path / made.vectors
    stamp = path.stat().st_mtime_ns
    again = vocabulary.vectors(str(tmp_path), made, model)
    assert path.stat().st_mtime_ns == stamp
    assert np.allclose(first, again, atol=1e-3)
    assert first.shape == (3, model.dimension)
    path.write_bytes(b"\x93NUMPY broken")
    assert np.allclose(first, vocabulary.vectors(str(tmp_path), made, model), atol=1e-3)
    path.unlink()
    assert np.allclose(first, vocabulary.vectors(str(tmp_path), made, model), atol=1e-3)
    assert path.exists()


def test_other_terms_or_another_model_have_other_vectors(tmp_path: Path) -> None:
    names = set()
    for terms, model in ((["tide"], "m"), (["estuary"], "m"), (["tide"], "n")):
        made = saved(tmp_path, *terms, model=model)
        (tmp_path / made.vectors).touch()
        names.add(made.vectors)
        assert sorted(name for name in os.listdir(tmp_path) if name.endswith(".npy")) == [made.vectors]
    assert len(names) == 3


def test_it_is_current_until_enough_has_changed(tmp_path: Path) -> None:
    made = saved(tmp_path, "tide")  # of rows 1 to 100
    assert made.is_current(100, 0, "m")
    assert made.is_current(102, 2, "m")
    assert made.is_current(99, 2, "m")
    assert not made.is_current(100, 3, "m")
    assert not made.is_current(94, 0, "m")
    assert not made.is_current(100, 0, "n")


def test_gathering_is_cheap() -> None:
    text = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26 % 26)} the estuary" for n in range(70))
    start = time.process_time()
    vocabulary.gather([text] * 5_000)
    assert time.process_time() - start < 1.5  # 26,000 chunks of Markdown take about 1 s
