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
