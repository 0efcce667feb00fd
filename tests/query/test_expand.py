from __future__ import annotations

from watersmeet.core.model import Plan
from watersmeet.query.expand import Expand
from watersmeet.query.words import Words


class Sea:
    """Near to everything are the tide, the ebb, the flood and the shore."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def nearest(self, text: str, limit: int) -> list[str]:
        self.asked.append(text)
        return ["tide", "ebb", "flood", "shore"][:limit]


def test_three_terms_for_meaning_and_none_for_words() -> None:
    plan = Expand(Sea()).apply(Words().apply(Plan("moon phases")))
    assert plan.expansion == ("tide", "ebb", "flood")
    assert plan.semantic_text == "moon phases tide ebb flood"
    assert (plan.text, plan.words) == ("moon phases", ("moon", "phases"))


def test_twice_is_once() -> None:
    step = Expand(Sea(), terms=2)
    once = step.apply(Plan("moon"))
    assert step.apply(once) == once
    assert once.expansion == ("tide", "ebb")


def test_nothing_is_asked_where_nothing_is_wanted() -> None:
    sea = Sea()
    for plan in (Plan(" "), Plan("D40", only=("lexical",))):
        assert Expand(sea).apply(plan) == plan
    assert Expand(sea, terms=0).apply(Plan("moon")) == Plan("moon")
    assert Expand().apply(Plan("moon")) == Plan("moon")
    assert sea.asked == []
