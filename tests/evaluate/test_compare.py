"""A difference that is there is seen; one that is not there is not, more often than the level says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from watersmeet.evaluate.compare import LEVEL, compare, interval

LADDER = np.array([0.0, 0.289, 0.315, 0.356, 0.387, 0.431, 0.5, 0.631, 1.0])
"""The nDCG@10 of one relevant document at each rank: what real figures jump between."""


def noisy(random: Generator, queries: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two runs of the same quality: a third of the queries differ by a rank or more, in either direction."""
    base = random.integers(0, len(LADDER), queries)

    def shifted() -> NDArray[np.float64]:
        moved = np.where(random.random(queries) < 0.2, random.choice([-3, -2, -1, 1, 2, 3], queries), 0)
        return LADDER[np.clip(base + moved, 0, len(LADDER) - 1)]

    return shifted(), shifted()


def test_the_same_run_twice_is_never_different() -> None:
    values = [0.3, 0.0, 1.0, 0.63] * 20
    for seed in range(100):
        found = compare(values, values, seed, resamples=200)
        assert (found.delta, found.p, found.won, found.lost, found.worse, found.better) == (0, 1.0, 0, 0, False, False)


@pytest.mark.slow
@pytest.mark.parametrize("queries", [1, 2, 3, 5, 8, 12, 30, 200])
def test_the_gate_flags_noise_in_a_hundred_seeds_no_more_often_than_the_level_says(queries: int) -> None:
    worse = 0
    for seed in range(100):
        ours, theirs = noisy(np.random.default_rng(seed), queries)
        worse += compare(list(ours), list(theirs), seed, resamples=2000).regressed
    assert worse <= 100 * LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("queries", range(1, 11))
def test_with_few_queries_too_noise_fails_the_gate_no_more_often_than_the_level_says(queries: int) -> None:
    runs, failed = 1000, 0
    for seed in range(1000, 1000 + runs):
        ours, theirs = noisy(np.random.default_rng(seed), queries)
        failed += compare(list(ours), list(theirs), seed, resamples=200).regressed
    assert failed / runs <= LEVEL


@pytest.mark.parametrize("queries", range(1, 8))
def test_a_collapse_is_a_regression_however_few_the_queries(queries: int) -> None:
    found = compare([0.0] * queries, [1.0] * queries)
    assert found.regressed
    assert found.few == (queries < 6)
    assert not compare([1.0] * queries, [0.0] * queries).regressed


@pytest.mark.parametrize(
    ("ours", "theirs", "regressed"),
    [
        ([0.99], [1.0], False),
        ([0.631], [1.0], True),
        ([0.9] * 4, [1.0] * 4, False),
        ([0.9] * 5, [1.0] * 5, True),
        ([0.631] * 3 + [1.0], [1.0] * 4, True),
        ([0.0, 1.0, 1.0, 1.0], [1.0] * 4, False),
        ([0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0], False),
        ([1.0] * 5, [1.0] * 5, False),
    ],
)
def test_where_no_test_can_tell_the_size_of_the_loss_does(
    ours: list[float], theirs: list[float], regressed: bool
) -> None:
    found = compare(ours, theirs)
    assert (found.few, found.regressed) == (True, regressed)


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "runs"), [(30, 2000), (100, 1000)])
def test_in_the_long_run_noise_is_called_a_difference_as_often_as_the_level_says(queries: int, runs: int) -> None:
    """In either direction. A hundred runs would not do: even at a true 5 %, four times in ten more than 5 occur."""
    flagged = 0
    for seed in range(1000, 1000 + runs):
        ours, theirs = noisy(np.random.default_rng(seed), queries)
        found = compare(list(ours), list(theirs), seed, resamples=1000)
        flagged += found.worse or found.better
    error = np.sqrt(LEVEL * (1 - LEVEL) / runs)
    assert LEVEL - 4 * error < flagged / runs < LEVEL + 2 * error


def test_a_real_loss_is_seen() -> None:
    caught = 0
    for seed in range(20):
        ours, theirs = noisy(np.random.default_rng(seed), 200)
        lost = np.where(np.random.default_rng([seed, 1]).random(200) < 0.2, 0.0, ours)
        caught += compare(list(lost), list(theirs), seed, resamples=2000).worse
    assert caught >= 19


def test_few_differences_are_tried_in_every_combination_of_signs() -> None:
    found = compare([1.0] * 5, [0.5] * 5)
    assert found.p == 2 / 2**5
    assert found.won == 5
    assert not found.better  # five queries cannot prove anything at this level
    assert compare([1.0] * 6, [0.5] * 6).better


def test_the_sample_agrees_with_all_combinations() -> None:
    ours = [0.9, 0.4, 0.7, 0.2, 0.8, 0.6, 0.3, 0.5, 0.9, 0.1, 0.6, 0.7]
    theirs = [0.5, 0.5, 0.5, 0.3, 0.6, 0.2, 0.4, 0.3, 0.4, 0.2, 0.3, 0.6]
    exact = compare(ours, theirs).p
    doubled = compare([*ours, 0.5, 0.5], [*theirs, 0.5 - 1e-9, 0.5 + 1e-9]).p  # 14 differences: sampled
    assert doubled == pytest.approx(exact, abs=0.01)


def test_the_interval_holds_the_mean_and_is_repeatable() -> None:
    values = list(np.random.default_rng(1).random(150))
    low, high = interval(values, seed=3)
    assert low < np.mean(values) < high
    assert (low, high) == interval(values, seed=3)
    assert high - low == pytest.approx(2 * 1.96 * np.std(values) / np.sqrt(150), rel=0.1)


def test_runs_of_different_questions_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="same questions"):
        compare([1.0], [1.0, 0.0])
