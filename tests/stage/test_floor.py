from __future__ import annotations

import pytest

from watersmeet.core.model import Plan
from watersmeet.stage.floor import Floor


@pytest.mark.parametrize(
    ("scores", "left"),
    [
        ([10, 9, 8, 2, 1.99], 4),
        ([10, 9, 2, 1.9], 3),
        ([10, 1, 1, 1], 3),
        ([10, 1], 2),
        ([10, 0.1, 0.1], 3),
        ([10], 1),
        ([], 0),
        ([1, 1, 1, 1, 1], 5),
        ([0, 0, 0, 0], 4),
        ([-1, -2, -3, -40], 4),
        ([0.5, 0.3, 0.11, 0.1, 0.05], 4),
    ],
)
def test_below_a_fifth_of_the_best(ranked, scores: list[float], left: int) -> None:
    ranking = ranked({str(number): score for number, score in enumerate(scores)})
    out = Floor().apply(ranking, Plan("q"))
    assert out.hits == ranking.hits[:left]


def test_its_settings(ranked) -> None:
    ranking = ranked({"a": 1.0, "b": 0.6, "c": 0.4, "d": 0.1})
    assert len(Floor(share=0.5, min_results=0).apply(ranking, Plan("q")).hits) == 2
    assert len(Floor(share=2.0, min_results=1).apply(ranking, Plan("q")).hits) == 1
    assert len(Floor(share=0.5, min_results=4).apply(ranking, Plan("q")).hits) == 4
