"""The figures, against what can be counted by hand."""

from __future__ import annotations

from math import log2

import pytest

from watersmeet.evaluate.data import Question
from watersmeet.evaluate.metrics import NAMES, judge, means, percentile


def question(**relevant: int) -> Question:
    return Question("q", "text", relevant)


def test_graded_gains_count_in_ndcg() -> None:
    scores = judge([question(a=3, b=1)], [["b", "x", "a"]])
    ideal = 3 + 1 / log2(3)
    assert scores["ndcg@10"] == pytest.approx([(1 + 3 / 2) / ideal])


def test_recall_first_rank_and_hit() -> None:
    scores = judge([question(a=1, b=1), question(c=1)], [["x", "a"], ["c"]])
    assert scores["recall@100"] == [0.5, 1.0]
    assert scores["mrr@10"] == [0.5, 1.0]
    assert scores["hit@1"] == [0.0, 1.0]


def test_recall_hit_and_precision_at_other_depths() -> None:
    relevant = dict.fromkeys("abcdefgh", 1)
    found = ["x", "a", "b", "x2", "x3", "c", "x4", "x5", "x6", "d", "e"]
    scores = judge([Question("q", "text", relevant), question(z=1)], [found, ["w", "x", "y", "u", "v", "z"]])
    assert scores["recall@10"] == [4 / 8, 1.0]
    assert scores["recall@100"] == [5 / 8, 1.0]
    assert scores["hit@5"] == [1.0, 0.0]
    assert scores["precision@1"] == [0.0, 0.0]
    assert scores["precision@3"] == pytest.approx([2 / 3, 0.0])
    assert scores["precision@5"] == pytest.approx([2 / 5, 0.0])
    assert scores["precision@10"] == pytest.approx([4 / 10, 1 / 10])


def test_precision_counts_missing_results_as_wrong() -> None:
    assert judge([question(a=1)], [["a"]])["precision@5"] == pytest.approx([1 / 5])


def test_what_comes_after_the_tenth_rank_does_not_count_in_ndcg_and_mrr() -> None:
    scores = judge([question(a=1)], [[*(f"x{i}" for i in range(10)), "a"]])
    assert scores["ndcg@10"] == scores["mrr@10"] == [0.0]
    assert scores["recall@100"] == [1.0]


def test_the_order_is_ours_and_not_that_of_names() -> None:
    for ranking in (["a", "b"], ["b", "a"]):
        assert judge([question(a=1)], [ranking])["hit@1"] == [float(ranking[0] == "a")]


def test_nothing_found_is_zero_and_counts() -> None:
    scores = judge([question(a=1), question(a=1)], [[], ["a"]])
    assert scores["ndcg@10"] == [0.0, 1.0]
    assert means(scores)["ndcg@10"] == 0.5
    assert judge([question(a=1)], [[]])["recall@100"] == [0.0]


def test_packs_are_among_the_metrics() -> None:
    scores = judge([question(a=1)], [["a"]], [(False, True, True)])
    assert tuple(scores) == NAMES
    assert (scores["pack@500"], scores["pack@2000"]) == ([0.0], [1.0])


def test_means_of_some_questions() -> None:
    assert means({"ndcg@10": [1.0, 0.0, 0.5]}, [0, 2]) == {"ndcg@10": 0.75}


def test_percentiles() -> None:
    values = [float(i) for i in range(101)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile([], 0.5)) == (50.0, 95.0, 0.0)
