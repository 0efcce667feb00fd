from __future__ import annotations

import pytest

from small_index import indexed, noted, plan_of, scores_of
from watersmeet.core.model import Condition
from watersmeet.signal.keyword import Keyword

GIVEN = noted(
    both="A tide under the moon, a tide and a tide.",
    tide="Tide tables for the tide.",
    moon="A moon.",
    none="A stone.",
)


@pytest.fixture(scope="module")
def snapshot():
    return indexed(GIVEN)


@pytest.fixture(scope="module")
def keyword(snapshot) -> Keyword:
    return Keyword(snapshot.words(Condition()))


def test_the_score_is_the_share_of_the_words_whatever_their_number(keyword: Keyword, snapshot) -> None:
    ranking = keyword.rank(plan_of("tide moon"))
    assert ranking.by == "keyword"
    assert scores_of(snapshot, ranking.hits) == pytest.approx({"both": 1.0, "tide": 0.5, "moon": 0.5})
    thirds = scores_of(snapshot, keyword.rank(plan_of("tide moon zyzzyva")).hits)
    assert thirds == pytest.approx({"both": 2 / 3, "tide": 1 / 3, "moon": 1 / 3})


def test_no_score_is_above_one_and_ties_are_in_the_order_of_ids(keyword: Keyword) -> None:
    hits = keyword.rank(plan_of(" ".join(["tide moon"] * 3))).hits
    assert hits[0].score == pytest.approx(1.0)
    assert hits[0].score <= 1.0
    assert [hit.chunk for hit in hits[1:]] == sorted(hit.chunk for hit in hits[1:])


def test_every_hit_says_its_score(keyword: Keyword) -> None:
    ranking = keyword.rank(plan_of("tide moon"))
    assert ranking.notes == {hit.chunk: {"keyword_score": hit.score} for hit in ranking.hits}


def test_nothing_asked_is_an_empty_ranking(keyword: Keyword, snapshot) -> None:
    assert keyword.rank(plan_of("")).hits == ()
    assert keyword.score(plan_of("..."), snapshot.places) == {}


def test_given_chunks_have_the_scores_of_the_ranking(keyword: Keyword, snapshot) -> None:
    plan = plan_of("tide moon")
    assert keyword.score(plan, snapshot.places) == pytest.approx({h.chunk: h.score for h in keyword.rank(plan).hits})


def test_the_condition_and_the_pool_hold(keyword: Keyword, snapshot) -> None:
    only = plan_of("tide moon", condition=Condition({"path": ("moon.md",)}))
    assert scores_of(snapshot, keyword.rank(only).hits) == pytest.approx({"moon": 0.5})
    assert len(keyword.rank(plan_of("tide moon", pool=2)).hits) == 2
