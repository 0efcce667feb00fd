from __future__ import annotations

import pytest

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.fusion.linear import Linear

PLAN = Plan("q")
DENSE = Ranking("dense", (Hit("x", 0.9), Hit("y", 0.5)))
KEYWORD = Ranking("keyword", (Hit("y", 1.0), Hit("z", 0.5)), {"y": {"keyword_score": 1.0}})


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.chunk: hit.score for hit in ranking.hits}


def test_scores_as_they_are_times_their_weights_and_what_is_missing_counts_as_nothing() -> None:
    fused = Linear().fuse([DENSE, KEYWORD], PLAN)
    assert fused.by == "linear"
    assert list(scores(fused)) == ["y", "x", "z"]
    assert scores(fused) == pytest.approx({"y": 0.7 * 0.5 + 0.3, "x": 0.63, "z": 0.15})


def test_a_signal_that_has_no_weight_counts_for_nothing_and_is_still_told() -> None:
    other = Ranking("exact", (Hit("w", 5.0),))
    fused = Linear().fuse([DENSE, other], PLAN)
    last = fused.hits[-1]
    assert (last.chunk, last.score, last.evidence[0].detail["weight"]) == ("w", 0.0, 0.0)


def test_the_weights_of_the_plan_come_before_the_settings() -> None:
    plan = Plan("q", weights={"dense": 0.2}, factors={"keyword": 2.0})
    assert scores(Linear().fuse([DENSE, KEYWORD], plan)) == pytest.approx({"y": 0.1 + 0.6, "z": 0.3, "x": 0.18})
    assert scores(Linear(weights={"dense": 1.0}).fuse([DENSE, KEYWORD], PLAN))["z"] == 0.0


def test_contributions_add_up_to_the_score() -> None:
    for hit in Linear().fuse([DENSE, KEYWORD], PLAN).hits:
        assert sum(one.detail["contribution"] for one in hit.evidence) == pytest.approx(hit.score)
    (y,) = (hit for hit in Linear().fuse([DENSE, KEYWORD], PLAN).hits if hit.chunk == "y")
    assert [(one.by, one.rank) for one in y.evidence] == [("dense", 2), ("keyword", 1)]
    assert y.evidence[1].detail["keyword_score"] == 1.0


def test_the_order_of_signals_does_not_matter_and_ties_go_by_id() -> None:
    tied = Ranking("dense", (Hit("b", 0.5), Hit("a", 0.5)))
    assert [hit.chunk for hit in Linear().fuse([tied], PLAN).hits] == ["a", "b"]
    assert Linear().fuse([DENSE, KEYWORD], PLAN) == Linear().fuse([KEYWORD, DENSE], PLAN)


def test_of_nothing_comes_nothing() -> None:
    assert Linear().fuse([], PLAN).hits == ()
    assert Linear().fuse([Ranking("dense")], PLAN).hits == ()


def test_weights_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"fusion\.linear\.weights"):
        Linear(weights={"dense": -0.1})
