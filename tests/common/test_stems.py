"""The stemmer, and that a text store has the same stems."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from watersmeet.common import stems
from watersmeet.common.stems import stem
from watersmeet.store.local.fts5 import Fts5
from watersmeet.store.local.tantivy import Tantivy

WORDS = [
    "running",
    "runs",
    "c++",
    "naïve",
    "naive",
    "x.509",
    "überläufe",
    "relational",
    "easily",
    "k8s",
    "日本",
    "run's",
]


def test_forms_of_a_word_have_one_stem() -> None:
    assert {stem(word) for word in ("rotate", "rotates", "rotated", "rotating")} == {"rotat"}
    assert stem("key") != stem("kelp")


@pytest.mark.parametrize("store", [Tantivy, Fts5])
def test_a_text_store_has_the_same_stems(store: type, tmp_path: Path) -> None:
    made = store(str(tmp_path / "text"))
    with made.writer() as writer:
        assert [writer.analyse("body", word) for word in WORDS] == stems.stems(WORDS)
    made.close()


@pytest.mark.parametrize("text", ["", "   ", "two words", "two\u2003words"])
def test_what_is_not_one_token_has_no_stem(text: str) -> None:
    assert stem(text) == ""
    assert stems.stems(["locks", text, "doors"]) == ["lock", "", "door"]


def test_many_words_at_once_have_the_stems_of_each() -> None:
    words = [*WORDS, "new-word", *WORDS, "a\u200bb"]
    assert stems.stems(words) == [stem(word) for word in words]


def test_threads_share_it_and_its_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stems, "MAX_CACHED_STEMS", 16)
    monkeypatch.setattr(stems, "_cache", {})
    words = [f"word{n}s" for n in range(200)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(stem, words * 3)) == [word.removesuffix("s") for word in words] * 3
    assert len(stems._cache) <= 16 + 4  # each thread may add one after the last clearing
