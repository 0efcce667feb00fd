from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.fusion.legacy import Legacy

PLAN = Plan("q")


def fused(dense: dict[str, float], boost: dict[str, float], **options: object) -> Ranking:
    each = [Ranking.of(by, [Hit(c, s) for c, s in held.items()]) for by, held in (("dense", dense), ("boost", boost))]
    made = Legacy(**options)  # type: ignore[arg-type]
    assert made.fuse(each, PLAN) == made.fuse(each[::-1], PLAN)
    return made.fuse(each, PLAN)


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.chunk: hit.score for hit in ranking.hits}


def test_a_cosine_moved_to_a_share_and_a_tenth_of_the_boost() -> None:
    found = fused({"x": 0.5, "y": 0.0}, {"y": 1.0, "z": 3.0})
    assert (found.by, scores(found)) == ("legacy", pytest.approx({"x": 0.75, "y": 0.6, "z": 0.3}))


def test_what_is_too_much_comes_off_the_boost_and_says_what_it_was() -> None:
    (hit,) = fused({"x": 0.8}, {"x": 5.0}).hits
    assert hit.score == 1.0
    detail = {one.by: one.detail for one in hit.evidence}
    assert detail["dense"] == {"contribution": pytest.approx(0.9)}
    assert detail["boost"] == {"contribution": pytest.approx(0.1), "unclamped": pytest.approx(0.5)}


def test_a_cosine_below_minus_one_is_cut_where_there_is_no_boost() -> None:
    (hit,) = fused({"x": -1.5}, {}).hits
    assert hit.score == 0.0
    assert hit.evidence[0].detail == {"contribution": pytest.approx(0.0), "unclamped": pytest.approx(-0.25)}


def test_which_signals_count_is_a_setting_and_others_are_told_at_nothing() -> None:
    made = Legacy(cosine="static", share=0.5)
    assert made.counted == ("static", "boost")
    rankings = [
        Ranking("static", (Hit("x", 0.0),)),
        Ranking("dense", (Hit("x", 1.0),)),
        Ranking("boost", (Hit("x", 0.5),)),
    ]
    (hit,) = made.fuse(rankings, PLAN).hits
    assert hit.score == pytest.approx(0.75)
    assert {one.by: one.detail["contribution"] for one in hit.evidence} == {"static": 0.5, "dense": 0.0, "boost": 0.25}


def test_of_nothing_comes_nothing_and_ties_go_by_id() -> None:
    assert Legacy().fuse([], PLAN).hits == ()
    assert list(scores(fused({}, {"b": 20.0, "a": 30.0}))) == ["a", "b"]


values = st.dictionaries(st.sampled_from("uvwxyz"), st.floats(-1, 20), max_size=6)


@given(dense=values, boost=values)
def test_contributions_add_up_to_a_score_from_0_to_1(dense: dict[str, float], boost: dict[str, float]) -> None:
    for hit in fused(dense, boost).hits:
        assert 0 <= hit.score <= 1
        assert sum(one.detail["contribution"] for one in hit.evidence) == pytest.approx(hit.score, abs=1e-9)
