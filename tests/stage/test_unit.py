from __future__ import annotations

import pytest

from watersmeet.core.model import Evidence, Hit, Plan, Ranking
from watersmeet.stage.unit import Unit


def test_scores_are_shares_of_the_best_and_the_order_stays(ranked) -> None:
    out = Unit().apply(ranked({"a": 8.0, "b": 4.0, "c": 4.0, "d": 0.0}), Plan("q"))
    assert out.by == "unit"
    assert [(hit.chunk, hit.score) for hit in out.hits] == [("a", 1.0), ("b", 0.5), ("c", 0.5), ("d", 0.0)]


def test_a_score_below_nothing_is_nothing(ranked) -> None:
    assert [hit.score for hit in Unit().apply(ranked({"a": 2.0, "b": -4.0}), Plan("q")).hits] == [1.0, 0.0]


@pytest.mark.parametrize("best", [0.0, -3.0])
def test_where_the_best_has_nothing_all_are_equal_and_in_their_order(ranked, best: float) -> None:
    out = Unit().apply(ranked({"b": best, "a": best - 1}), Plan("q"))
    assert [(hit.chunk, hit.score) for hit in out.hits] == [("b", 1.0), ("a", 1.0)]


def test_none_is_cut_and_evidence_stays() -> None:
    evidence = (Evidence("lexical", 1, 7.5),)
    before = Ranking("fused", tuple(Hit(str(n), 30.0 - n, evidence) for n in range(20)))
    out = Unit().apply(before, Plan("q", top_n=3))
    assert len(out.hits) == 20
    assert all(hit.evidence == evidence for hit in out.hits)


def test_twice_is_once_and_of_nothing_comes_nothing(ranked) -> None:
    once = Unit().apply(ranked({"a": 8.0, "b": 4.0}), Plan("q"))
    assert Unit().apply(once, Plan("q")) == once
    assert Unit().apply(Ranking("fused"), Plan("q")).hits == ()
