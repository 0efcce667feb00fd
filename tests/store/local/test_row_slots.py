"""Row numbers that all stores of a process share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from watersmeet.store.local import _row_slots


class Contested(list[Any]):
    """A list in which another thread always puts its own, shorter array right afterwards."""

    def __setitem__(self, place: Any, value: Any) -> None:
        super().__setitem__(place, [np.arange(5)])


def test_numbers_are_shared_and_grow() -> None:
    few, many = _row_slots.counted(10), _row_slots.counted(100_000)
    assert few.tolist() == list(range(10))
    assert len(many) == 100_000
    assert np.shares_memory(many, _row_slots.counted(50))
    assert not many.flags.writeable


def test_a_thread_gets_all_its_numbers_whatever_another_one_puts_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_row_slots, "_counted", Contested())
    for count in (300, 10, 20_000):
        assert _row_slots.counted(count).tolist() == list(range(count))
