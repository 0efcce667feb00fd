from __future__ import annotations

import pytest

from watersmeet.core.model import Plan
from watersmeet.query.identifier_weight import IdentifierWeight


@pytest.mark.parametrize(
    ("query", "share"),
    [
        ("D40", 1.0),
        ("tell me about D40", 1.0),
        ("how do I use get_user_by_id here?", 1.0),
        ("Explain regulation 75.1725", 0.5),
        ("what are the safety requirements?", 0.0),
        ("404", 0.0),
        ("well-known ports", 0.0),
        ("--no-vectors", 1.0),
        ("", 0.0),
        ("RBAC", 1.0),
        ("TINT type", 0.5),
        ("how do PMs use AI in their daily work?", 0.0),
        ("which API lists the users of a team?", 0.0),
        ("what does SIGKILL do to a process?", 0.5),
    ],
)
def test_the_weights_follow_the_share_of_identifiers(query: str, share: float) -> None:
    factors = IdentifierWeight().apply(Plan(query)).factors
    assert factors["exact"] == pytest.approx(max(0.1, share))
    assert factors["dense"] == factors["static"] == pytest.approx(1 - share / 2)


def test_factors_act_on_weights() -> None:
    plan = IdentifierWeight().apply(Plan("D40", weights={"dense": 0.6}))
    assert plan.weight("dense", {"dense": 0.5}) == pytest.approx(0.3)
    assert plan.weight("exact", {"exact": 0.4}) == pytest.approx(0.4)
    assert plan.weight("lexical", {}) == 1.0
    assert plan.weight("keyword", {}, otherwise=0.0) == 0.0
