from __future__ import annotations

import pytest

from watersmeet.core.word_endings import alike, stem


@pytest.mark.parametrize(
    ("word", "same"), [("rotate", "rotating"), ("keys", "key"), ("expired", "expires"), ("bus", "bus"), ("", "")]
)
def test_words_that_differ_in_their_endings_are_alike(word: str, same: str) -> None:
    assert stem(word) == stem(same)
    assert same in alike(word)
    assert word in alike(same)


def test_short_words_keep_their_letters() -> None:
    assert [stem(word) for word in ("red", "use", "is", "king")] == ["red", "use", "is", "king"]
