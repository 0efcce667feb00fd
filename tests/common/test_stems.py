"""Stems as an index in FTS5 has them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from watersmeet.common import stems
from watersmeet.common.stems import WORD_TOKENS, Stems


@pytest.fixture
def made() -> Iterator[Stems]:
    found = Stems()
    yield found
    found.close()


def test_forms_of_a_word_have_one_stem(made: Stems) -> None:
    assert {made.stem(word) for word in ("rotate", "rotates", "rotated", "rotating")} == {"rotat"}
    assert made.stem("key") != made.stem("kelp")


def test_what_an_index_finds_has_the_same_stem(made: Stems) -> None:
    words = ["running", "runs", "c++", "naïve", "naive", "x.509", "überläufe", "relational"]
    index = sqlite3.connect(":memory:")
    index.execute(f"CREATE VIRTUAL TABLE words USING fts5(text, {WORD_TOKENS})")
    index.executemany("INSERT INTO words (text) VALUES (?)", [(word,) for word in words])
    for word in words:
        found = index.execute("SELECT text FROM words WHERE words MATCH ?", (f'"{word}"',)).fetchall()
        assert {other for (other,) in found} == {other for other in words if made.stem(other) == made.stem(word)}
    index.close()


@pytest.mark.parametrize("text", ["", "   ", "two words"])
def test_what_is_not_one_token_has_no_stem(made: Stems, text: str) -> None:
    assert made.stem(text) == ""


def test_threads_share_it_and_its_memory_is_bounded(made: Stems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stems, "MAX_CACHED_STEMS", 16)
    words = [f"word{n}s" for n in range(200)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(made.stem, words * 3)) == [word.removesuffix("s") for word in words] * 3
    assert len(made._cache) <= 16


def test_it_can_be_used_again_after_it_was_closed(made: Stems) -> None:
    made.stem("locks")
    made.close()
    assert (made.stem("locks"), made.stem("doors")) == ("lock", "door")
