"""What every scale of the convex fusion promises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Hit, Plan, Ranking
from watersmeet.fusion.convex import MAX_LEAD_EXPONENT, SCALES, Convex

CHUNKS = [f"c{n}" for n in range(8)]
scores = st.lists(st.integers(-50, 50), min_size=8, max_size=8)


def ranking(by: str, values: list[int]) -> Ranking:
    return Ranking.of(by, (Hit(chunk, float(value)) for chunk, value in zip(CHUNKS, values, strict=True)))


def order(fused: Ranking) -> list[tuple[str, float]]:
    return [(hit.chunk, round(hit.score, 9)) for hit in fused.hits]


def fusion(scale: str, peak: float = 0.0) -> Convex:
    return Convex(weights={"a": 0.6, "b": 0.4}, scale=scale, peak=peak, usual_lead={"a": 1.0, "b": 1.0})


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@given(scores, scores)
def test_contributions_add_up_and_the_order_of_signals_does_not_matter(
    scale: str, one: list[int], two: list[int]
) -> None:
    rankings = [ranking("a", one), ranking("b", two)]
    fused = fusion(scale, 0.3).fuse(rankings, Plan("q"))
    assert order(fused) == order(fusion(scale, 0.3).fuse(rankings[::-1], Plan("q")))
    for hit in fused.explained().hits:
        assert math.isclose(sum(e.detail["contribution"] for e in hit.evidence), hit.score, abs_tol=1e-9)
        assert math.isclose(sum(e.detail["weight"] for e in hit.evidence), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale != "raw"])
@given(scores, st.integers(-50, 50))
def test_a_signal_that_tells_nothing_apart_changes_nothing(scale: str, one: list[int], flat: int) -> None:
    alone = fusion(scale).fuse([ranking("a", one)], Plan("q"))
    both = fusion(scale, 0.3).fuse([ranking("a", one), ranking("b", [flat] * 8)], Plan("q"))
    ahead = [(x.chunk, y.chunk) for x in alone.hits for y in alone.hits if x.score > y.score + 1e-9]
    place = {hit.chunk: hit.score for hit in both.hits}
    assert all(place[x] > place[y] for x, y in ahead)


def test_spread_counts_in_standard_deviations() -> None:
    values = [4, 0, 0, 0, 0, 0, 0, 0]
    deviation = math.sqrt(sum((v - 0.5) ** 2 for v in values) / 8)
    fused = fusion("spread").fuse([ranking("a", values)], Plan("q"))
    assert math.isclose(fused.hits[0].score, 4 / (4 * deviation))


def test_one_signal_may_have_a_scale_of_its_own() -> None:
    mixed = Convex(weights={"a": 1.0, "b": 1.0}, scale="spread", scales={"b": "min_max"})
    fused = mixed.fuse([ranking("a", [9, 1, 0, 0, 0, 0, 0, 0]), ranking("b", [7, 0, 0, 0, 0, 0, 0, 0])], Plan("q"))
    scaled = {e.by: e.detail["scaled"] for e in fused.explained().hits[0].evidence}
    assert scaled["b"] == 1.0
    assert scaled["a"] < 1.0


def test_a_signal_that_is_surer_than_usual_counts_for_more_and_never_for_much_more() -> None:
    sure, unsure = ranking("a", [50, 0, 0, 0, 0, 0, 0, 0]), ranking("b", [8, 7, 6, 5, 4, 3, 2, 1])
    weights, plain = (
        {e.by: e.detail["weight"] for e in made.fuse([sure, unsure], Plan("q")).explained().hits[0].evidence}
        for made in (fusion("spread", 1.0), fusion("spread"))
    )
    assert weights["a"] > plain["a"]
    most = math.exp(2 * MAX_LEAD_EXPONENT) * plain["a"] / plain["b"]
    assert weights["a"] / weights["b"] <= most + 1e-9


def test_a_scale_that_there_is_not_is_named() -> None:
    with pytest.raises(ConfigError, match=r"scales\.dense"):
        Convex(scales={"dense": "minmax"})
