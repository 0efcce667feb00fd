from __future__ import annotations

from meaning_signal import MeaningSignal
from small_index import HashedMeanings, indexed, noted, plan_of
from watersmeet.engine.components import build
from watersmeet.signal.dense import Dense


class TestDense(MeaningSignal):
    by, signal = "dense", Dense


def test_the_engine_gives_it_the_vectors_of_its_own_tier() -> None:
    meanings = HashedMeanings(indexed(noted(tide="The tide.")))
    made = build("signal", "dense", {}, static=None, dense=meanings)
    assert len(made.rank(plan_of("tide")).hits) == 1


def test_it_says_how_much_of_what_all_queries_share_does_not_count() -> None:
    meanings = HashedMeanings(indexed(noted(tide="The tide.")))
    plan = plan_of("tide")
    for share in (0.0, 0.4):
        made = build("signal", "dense", {"less_general": share}, static=None, dense=meanings)
        made.score(plan, [hit.chunk for hit in made.rank(plan).hits])
    assert meanings.shares == [0.0, 0.0, 0.4, 0.4]
