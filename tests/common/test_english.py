from __future__ import annotations

import pytest

from watersmeet.common.english import is_english


@pytest.mark.parametrize("word", ["bread", "baking", "baked", "upload", "schemas", "being", "hypersonic", "dataset"])
def test_words_in_any_form_are_words(word: str) -> None:
    assert is_english(word)


@pytest.mark.parametrize("word", ["matasteses", "configuratoin", "databse", "nationalparks", "kuberntes", "", "\n"])
def test_errors_are_not(word: str) -> None:
    assert not is_english(word)
