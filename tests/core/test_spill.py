"""A map that goes to disk says what a dict says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.spill import Spill

KEYS = st.sampled_from(["a", "b", "é", "\ud800", "", "a\0b"]) | st.text(max_size=2)
STEPS = st.lists(st.tuples(st.sampled_from(["put", "pop", "get"]), KEYS, st.integers(0, 9)), max_size=60)


@pytest.mark.slow
@given(STEPS, st.integers(0, 4))
def test_it_is_a_dict(steps: list[tuple[str, str, int]], most: int) -> None:
    spill: Spill[int] = Spill(max_in_memory=most)
    plain: dict[str, int] = {}
    for what, key, value in steps:
        if what == "put":
            spill[key] = plain[key] = value
        elif what == "pop":
            assert spill.pop(key) == plain.pop(key, None)
        else:
            assert (spill.get(key), key in spill) == (plain.get(key), key in plain)
        assert (len(spill), bool(spill)) == (len(plain), bool(plain))
    assert sorted(spill.items()) == sorted(plain.items())
    assert sorted(spill) == sorted(plain)


def test_little_of_it_stays_in_memory() -> None:
    spill: Spill[bytes] = Spill(((str(n), b"%d" % n) for n in range(1000)), max_in_memory=10)
    assert len(spill._recent) <= 10
    assert (spill.get("7"), spill.get("999"), spill.get("1000"), len(spill)) == (b"7", b"999", None, 1000)
