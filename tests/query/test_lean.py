from __future__ import annotations

import pytest

from watersmeet.core.model import Plan
from watersmeet.query.lean import Lean


@pytest.mark.parametrize(
    ("query", "weight"),
    [
        ("D40", 0.3),
        ("tell me about D40", 0.3),
        ("how do I use get_user_by_id here?", 0.3),
        ("Explain regulation 75.1725", 0.15),
        ("what are the safety requirements?", 0.03),
        ("404", 0.03),
        ("well-known ports", 0.03),
        ("--no-vectors", 0.3),
        ("", 0.03),
    ],
)
def test_the_weight_follows_the_share_of_identifiers(query: str, weight: float) -> None:
    assert Lean().apply(Plan(query)).weights["exact"] == pytest.approx(weight)


def test_other_weights_stay() -> None:
    assert Lean().apply(Plan("D40", weights={"dense": 0.5})).weights == {"dense": 0.5, "exact": 0.3}
