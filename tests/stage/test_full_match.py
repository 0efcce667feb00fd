from __future__ import annotations

import pytest

from watersmeet.core.model import Evidence, Hit, Plan, Ranking
from watersmeet.stage.full_match import FullMatch


@pytest.mark.parametrize(("boost", "score"), [(8.0, 8 / 13.5), (13.5, 1.0), (40.0, 1.0), (0.0, 0.0), (-2.0, 0.0)])
def test_a_share_of_a_full_match(boost: float, score: float) -> None:
    made = FullMatch().apply(Ranking.of("boost", [Hit("a", boost)]), Plan("x"))
    assert made.hits[0].score == pytest.approx(score)


def test_the_score_of_a_full_match_is_a_setting(ranked) -> None:
    made = FullMatch(score=4.0).apply(ranked({"a": 3.0, "b": 1.0}), Plan("x"))
    assert [hit.score for hit in made.hits] == [0.75, 0.25]


def test_the_order_stays_also_where_scores_become_equal(ranked) -> None:
    made = FullMatch().apply(ranked({"b": 40.0, "a": 20.0, "c": 13.5}), Plan("x"))
    assert [(hit.chunk, hit.score) for hit in made.hits] == [("b", 1.0), ("a", 1.0), ("c", 1.0)]


def test_evidence_stays_and_of_nothing_comes_nothing() -> None:
    hit = Hit("a", 13.5, (Evidence("boost", 1, 13.5),))
    made = FullMatch().apply(Ranking("boost", (hit,)), Plan("x"))
    assert (made.by, made.hits) == ("full_match", (hit._replace(score=1.0),))
    assert FullMatch().apply(Ranking("boost"), Plan("x")).hits == ()
