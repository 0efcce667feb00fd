"""Numbers, whatever way they are written."""

from __future__ import annotations

import pytest

from watersmeet.engine.ask.numbers import numbers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,000 items and 1000 more", ["1000", "1000"]),
        ("three of twelve", ["12", "3"]),
        ("2.50 or 2.5", ["2.5", "2.5"]),
        ("10ms, 90% and port 7878.", ["10", "7878", "90"]),
        ("TRN-1042, v1.28 and HTTP/2", []),
        ("one of them", []),
        ("007", ["7"]),
    ],
)
def test_numbers(text: str, found: list[str]) -> None:
    assert sorted(numbers(text).elements()) == found
