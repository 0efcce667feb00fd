from __future__ import annotations

import pytest

from watersmeet.core.model import Condition, Plan
from watersmeet.query.words import Words


def test_words_come_once_in_their_order_and_forms_as_they_are_written() -> None:
    plan = Words().apply(Plan("rotate keys, rotate TRN-1042"))
    assert plan.words[:2] == ("rotate", "keys")
    assert len(set(plan.words)) == len(plan.words)
    assert "TRN-1042" in plan.forms


def test_words_that_people_ask_with_are_left_out_if_others_remain() -> None:
    assert Words().apply(Plan("tell me about tides")).words == ("tides",)
    assert Words().apply(Plan("tell me about")).words == ("tell", "me", "about")
    assert Words(keep_question_words=True).apply(Plan("tell me about tides")).words == ("tell", "me", "about", "tides")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Marguerite", ("marguerite",)),  # the only word there is
        ("Who is Marguerite", ("marguerite",)),
        ("Marguerite sails", ()),  # the first of a sentence says nothing
        ("the Oslo of Oslo and Bergen", ("oslo", "bergen")),
        ("the NASA of D40", ()),  # neither is a plain name
        ("so Tell Me of it", ()),  # asked with
        ("who is marguerite", ()),
    ],
)
def test_names_are_capitalised_plain_words(text: str, names: tuple[str, ...]) -> None:
    assert Words().apply(Plan(text)).names == names


@pytest.mark.parametrize("text", ["", "  ", "?!"])
def test_nothing_said_holds_nothing(text: str) -> None:
    plan = Words().apply(Plan(text))
    assert (plan.words, plan.names) == ((), ())


def test_nothing_else_of_the_plan_changes() -> None:
    before = Plan("tides", condition=Condition({"tag": ("a",)}), top_n=3, weights={"dense": 0.5})
    after = Words().apply(before)
    assert (after.text, after.condition, after.top_n, after.weights) == (
        before.text,
        before.condition,
        before.top_n,
        before.weights,
    )
    assert Words().apply(after) == after
