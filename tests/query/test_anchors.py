from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Plan
from watersmeet.query.anchors import Anchors


def test_identifiers_as_they_are_written_each_once() -> None:
    assert Anchors().apply(Plan("does D40 lead from d41 to D40?")).anchors == ("D40", "d41")
    assert Anchors().apply(Plan("30 CFR 75.1725")).anchors == ("CFR", "75.1725")
    assert Anchors().apply(Plan("42")).anchors == ("42",)
    assert Anchors().apply(Plan("fire hazards", anchors=("old",))).anchors == ()


@given(st.text(max_size=60))
def test_twice_is_once(text: str) -> None:
    once = Anchors().apply(Plan(text))
    assert Anchors().apply(once) == once
    assert all(anchor in once.text or not text.isascii() for anchor in once.anchors)
