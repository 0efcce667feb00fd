"""Soft caps: the examples of the source document, two of them as they should have been counted."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.stage.distribute import chosen

SHARE = 0.6


def counted(kinds: str, most: int) -> dict[str, int]:
    return dict(Counter(kinds[place] for place in chosen(kinds, most, SHARE)))


@pytest.mark.parametrize(
    ("kinds", "most", "expected"),
    [
        ("S" * 20, 10, {"S": 10}),  # example 1: nobody waits, so the cap is lifted
        ("SSSASTSASTAS", 10, {"S": 6, "A": 2, "T": 2}),  # example 2: 10 are full before the third agent
        ("SSSSSAT", 5, {"S": 3, "A": 1, "T": 1}),  # example 3: at most 3 of 5 while others wait
        ("S" * 40 + "AAATT", 50, {"S": 40, "A": 3, "T": 2}),  # example 4: all 45 that there are
        ("SSSSSSSSA", 5, {"S": 4, "A": 1}),  # back-filled: the cap leaves a place empty
        ("SA", 1, {"S": 1}),
        ("", 10, {}),
        ("SSSSAAAA", 5, {"S": 3, "A": 2}),
    ],
)
def test_the_places_are_shared_out(kinds: str, most: int, expected: dict[str, int]) -> None:
    assert counted(kinds, most) == expected


def test_what_is_filled_in_last_does_not_come_last() -> None:
    """[.9, .8, .7, .6, .5] of S S S S A: the fourth S is filled in after A, and stands before it."""
    assert chosen("SSSSA", 5, SHARE) == [0, 1, 2, 3, 4]
    assert chosen("SSSSSA", 5, SHARE) == [0, 1, 2, 3, 5]


@pytest.mark.slow
@given(st.lists(st.sampled_from("SATKV"), max_size=150), st.integers(1, 50))
def test_always_the_order_of_the_ranking_and_never_an_empty_place(kinds: list[str], most: int) -> None:
    kept = chosen(kinds, most, SHARE)
    assert kept == sorted(set(kept))
    assert len(kept) == min(most, len(kinds))
    if kinds:
        assert kept[0] == 0
