from __future__ import annotations

from typing import Any

import pytest

from published import BEIR, CARD, CONTEXT7, OFFICIAL, read
from watersmeet.record.card import Card


@pytest.mark.parametrize("value", [CARD])
def test_it_knows_its_own(value: Any) -> None:
    assert Card().knows(value)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, CONTEXT7, OFFICIAL, BEIR, {"name": "x"}])
def test_it_knows_no_other(value: Any) -> None:
    assert not Card().knows(value)


def test_a_card() -> None:
    (agent,) = read(CARD)
    assert (agent.kind, agent.path) == ("a2a_agent", "/agents/trip-planner")
    assert (agent.capabilities, agent.skills[0].tags) == (("streaming",), ("air",))
    assert agent.extra["location"] == "https://agents.example/trip"
