from __future__ import annotations

from collections.abc import Mapping

import pytest

from watersmeet.core.model import Condition, Plan
from watersmeet.query.learned_weights import LearnedWeights


class Lessons:
    """Evidence about the whole, and about one collection."""

    def weights(self, collections: tuple[str, ...]) -> Mapping[str, float]:
        return {(): {"dense": 0.8, "lexical": 0.2}, ("handbook",): {"dense": 0.3}}.get(collections, {})


@pytest.mark.parametrize(
    ("fields", "weights"),
    [
        ({}, {"dense": 0.8, "lexical": 0.2}),
        ({"tag": ("a",)}, {"dense": 0.8, "lexical": 0.2}),
        ({"collection": ("handbook",)}, {"dense": 0.3}),
        ({"Collection": ("handbook",)}, {"dense": 0.3}),
        ({"collection": ("unheard",)}, {}),
    ],
)
def test_the_weights_are_those_of_what_is_asked(fields: dict[str, tuple[str, ...]], weights: dict[str, float]) -> None:
    assert LearnedWeights(Lessons()).apply(Plan("q", condition=Condition(fields))).weights == weights


def test_what_the_plan_says_already_comes_first() -> None:
    plan = LearnedWeights(Lessons()).apply(Plan("q", weights={"dense": 0.1, "exact": 1.0}))
    assert plan.weights == {"dense": 0.1, "lexical": 0.2, "exact": 1.0}


def test_without_evidence_nothing_changes() -> None:
    plan = Plan("q", weights={"dense": 0.1})
    assert LearnedWeights().apply(plan) is plan
    unheard = Plan("q", condition=Condition({"collection": ("unheard",)}))
    assert LearnedWeights(Lessons()).apply(unheard) is unheard
