"""Batches are used one after another, while the next is made, and errors of either side end both."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from watersmeet.common.batches import use_each


def test_the_next_is_made_while_one_is_used() -> None:
    second_made, used = Event(), list[int]()

    def made() -> Iterator[int]:
        yield 1
        second_made.set()
        yield 2

    def use(batch: int) -> None:
        assert second_made.wait(10)
        used.append(batch)

    use_each(made(), use)
    assert used == [1, 2]


def test_nothing_is_used_after_a_failure() -> None:
    used = list[int]()

    def use(batch: int) -> None:
        used.append(batch)
        raise ValueError(f"batch {batch}")

    with pytest.raises(ValueError, match="batch 1"):
        use_each([1, 2, 3], use)
    assert used == [1]


def test_what_was_made_before_a_failure_is_used() -> None:
    used = list[int]()

    def made() -> Iterator[int]:
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        use_each(made(), used.append)
    assert used == [1]
