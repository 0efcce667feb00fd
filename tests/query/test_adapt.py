"""ADR-003, option B: its examples, to the digit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Plan
from watersmeet.query.adapt import Adapt


@pytest.mark.parametrize(
    ("text", "semantic", "keyword"),
    [
        ("D40", 0.3, 0.7),
        ("Tell me about D40", 0.3, 0.7),
        ("30 CFR 75.1725", 0.3, 0.7),
        ("Tell me about Room D40", 0.5, 0.5),
        ("Explain regulation 75.1725", 0.5, 0.5),
        ("What are the safety requirements?", 0.7, 0.3),
        ("safety belts doors windows exit D40", 0.7, 0.3),  # one in six is not more than .2
        ("", 0.7, 0.3),
    ],
)
def test_the_more_identifiers_the_more_the_words(text: str, semantic: float, keyword: float) -> None:
    assert Adapt().apply(Plan(text)).weights == {"dense": semantic, "keyword": keyword}


def test_other_weights_stay_and_several_signals_share() -> None:
    step = Adapt(semantic=("static", "dense"), keyword=("lexical",))
    plan = step.apply(Plan("D40", weights={"exact": 2.0, "dense": 9.0}))
    assert plan.weights == {"exact": 2.0, "static": 0.15, "dense": 0.15, "lexical": 0.7}


@pytest.mark.parametrize("pair", [(1.0,), (0.2, 0.3, 0.5), (-0.1, 1.1)])
def test_weights_come_in_pairs(pair: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match="if_some"):
        Adapt(if_some=pair)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_twice_is_once(text: str) -> None:
    once = Adapt().apply(Plan(text))
    assert Adapt().apply(once) == once
    assert sum(once.weights.values()) == pytest.approx(1)
