from __future__ import annotations

import pytest

from watersmeet.core.model import Evidence, Hit, Plan, Ranking
from watersmeet.stage.top import Top


@pytest.mark.parametrize(("asked", "left"), [(1, 1), (3, 3), (4, 4), (9, 4)])
def test_only_as_many_as_were_asked_for(ranked, asked: int, left: int) -> None:
    before = ranked({"a": 3.0, "b": 2.0, "c": 2.0, "d": -1.0})
    out = Top().apply(before, Plan("q", top_n=asked))
    assert (out.by, out.hits) == ("top", before.hits[:left])


def test_scores_and_evidence_stay_as_they_are() -> None:
    hit = Hit("a", 7.5, (Evidence("lexical", 1, 7.5),))
    assert Top().apply(Ranking("fused", (hit,)), Plan("q")).hits == (hit,)


def test_of_nothing_comes_nothing() -> None:
    assert Top().apply(Ranking("fused"), Plan("q")).hits == ()
