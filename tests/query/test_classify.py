"""The kind and length of a query, and the path of a bare identifier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Plan
from watersmeet.query.classify import Classify


@pytest.mark.parametrize(
    ("text", "kind", "length"),
    [
        ("D40", "identifier", "short"),
        ("Aboleth", "identifier", "short"),
        ("30 CFR 75.1725", "identifier", "short"),
        ("PII-2024-0042", "identifier", "short"),
        ("What are the safety requirements?", "conceptual", "sentence"),
        ("Tell me about fire hazards", "conceptual", "sentence"),
        ("Tell me about Room D40", "mixed", "sentence"),
        ("Explain regulation 75.1725", "mixed", "short"),
    ],
)
def test_the_examples_of_adr_003(text: str, kind: str, length: str) -> None:
    plan = Classify().apply(Plan(text))
    assert (plan.kind, plan.length, plan.only) == (kind, length, ())


@pytest.mark.parametrize("text", ["D40", "d40", "30 CFR 75.1725", "getUserById"])
def test_a_bare_identifier_may_be_left_to_the_words(text: str) -> None:
    assert Classify(keyword_only=True).apply(Plan(text)).only == ("lexical", "exact", "keyword")


@pytest.mark.parametrize("text", ["Tell me about D40", "fire hazards", "Aboleth", ""])
def test_all_else_is_everybodys(text: str) -> None:
    assert Classify(keyword_only=True).apply(Plan(text)).only == ()


@given(st.text(max_size=60), st.booleans())
def test_twice_is_once(text: str, keyword_only: bool) -> None:
    step = Classify(keyword_only=keyword_only)
    once = step.apply(Plan(text))
    assert step.apply(once) == once
