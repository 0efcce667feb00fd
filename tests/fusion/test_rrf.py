from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.fusion.rrf import Rrf

PLAN = Plan("q")
A = Ranking("a", (Hit("x", 9.0), Hit("y", 1.0)), {"x": {"estimated": True}})
B = Ranking("b", (Hit("y", 0.2), Hit("z", 0.1)))


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.chunk: hit.score for hit in ranking.hits}


def test_the_sum_of_reciprocal_ranks_whatever_the_scores() -> None:
    fused = Rrf().fuse([A, B], PLAN)
    assert fused.by == "rrf"
    assert list(scores(fused)) == ["y", "x", "z"]
    assert scores(fused) == pytest.approx({"y": 1 / 62 + 1 / 61, "x": 1 / 61, "z": 1 / 62})


def test_k_and_weights_are_settings_and_the_plan_comes_before_them() -> None:
    assert scores(Rrf(k=0).fuse([A], PLAN)) == {"x": 1.0, "y": 0.5}
    weighted = Rrf(k=0, weights={"a": 3.0})
    assert scores(weighted.fuse([A], PLAN)) == {"x": 3.0, "y": 1.5}
    assert scores(weighted.fuse([A], Plan("q", weights={"a": 2.0}, factors={"a": 2.0}))) == {"x": 4.0, "y": 2.0}


def test_a_signal_without_weight_brings_nothing_in() -> None:
    assert list(scores(Rrf(weights={"b": 0.0}).fuse([A, B], PLAN))) == ["x", "y"]


@pytest.mark.parametrize("rankings", [[], [Ranking("a")], [Ranking("a"), Ranking("b")]])
def test_of_nothing_comes_nothing(rankings: list[Ranking]) -> None:
    assert Rrf().fuse(rankings, PLAN).hits == ()


def test_evidence_says_rank_score_weight_and_what_the_signal_noted() -> None:
    first = {hit.chunk: hit for hit in Rrf(k=0).fuse([A, B], PLAN).hits}["x"].evidence[0]
    assert (first.by, first.rank, first.score) == ("a", 1, 9.0)
    assert first.detail == {"weight": 1.0, "contribution": 1.0, "estimated": True}


@pytest.mark.parametrize("options", [{"k": -1}, {"weights": {"a": -1.0}}])
def test_settings_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"fusion\.rrf"):
        Rrf(**options)  # type: ignore[arg-type]


rankings = st.lists(st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=6), max_size=4)


@given(rankings)
def test_contributions_add_up_ties_go_by_id_and_the_order_of_signals_does_not_matter(orders: list[list[str]]) -> None:
    each = [
        Ranking(f"s{n}", tuple(Hit(chunk, -float(place)) for place, chunk in enumerate(order)))
        for n, order in enumerate(orders)
    ]
    fused = Rrf().fuse(each, PLAN)
    assert fused == Rrf().fuse(each[::-1], PLAN)
    assert [(hit.score, hit.chunk) for hit in fused.hits] == sorted(
        ((hit.score, hit.chunk) for hit in fused.hits), key=lambda one: (-one[0], one[1])
    )
    for hit in fused.hits:
        assert math.isclose(sum(one.detail["contribution"] for one in hit.evidence), hit.score)
