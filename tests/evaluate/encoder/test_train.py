"""Batches of training."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watersmeet.evaluate.encoder.train import BATCH, _batches


@given(st.integers(1, 200), st.integers(1, 40), st.integers(0, 5))
def test_every_example_is_used_once_an_epoch(size: int, steps: int, seed: int) -> None:
    batches = _batches(size, steps, seed)
    assert [len(batch) for batch in batches] == [min(BATCH, size)] * steps
    order = [place for batch in batches for place in batch]
    for start in range(0, len(order) - size + 1, size):
        assert sorted(order[start : start + size]) == list(range(size))
    assert batches == _batches(size, steps, seed)
