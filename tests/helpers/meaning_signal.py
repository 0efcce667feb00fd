"""Shared tests of the signals that use embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from memory_index import MemorySnapshot
from small_index import HashedMeanings, documents_of, indexed, noted, plan_of
from watersmeet.core.model import Condition

GIVEN = noted(
    tide="The tide fills the estuary twice a day.",
    keys="Rotate keys every quarter.",
    swell="An even swell runs under the pier.",
)


class MeaningSignal:
    by: ClassVar[str]
    signal: ClassVar[Callable[..., Any]]

    @pytest.fixture
    def snapshot(self) -> MemorySnapshot:
        return indexed(GIVEN)

    def test_what_is_nearest_comes_first_with_its_cosine(self, snapshot: MemorySnapshot) -> None:
        ranking = self.signal(HashedMeanings(snapshot)).rank(plan_of("tide of the estuary"))
        assert ranking.by == self.by
        assert documents_of(snapshot, ranking)[0] == "tide"
        assert all(-1 <= hit.score <= 1 for hit in ranking.hits)
        assert ranking.notes == {}

    @pytest.mark.parametrize("text", ["", "?!"])
    def test_punctuation_means_nothing_and_asks_no_model(self, snapshot: MemorySnapshot, text: str) -> None:
        meanings = HashedMeanings(snapshot)
        assert self.signal(meanings).rank(plan_of(text)).hits == ()
        assert meanings.texts == []

    def test_an_estimate_is_named(self, snapshot: MemorySnapshot) -> None:
        (chunk,) = [one for one, (kept, _) in snapshot.places.items() if kept.document.id == "keys.md"]
        ranking = self.signal(HashedMeanings(snapshot, {chunk})).rank(plan_of("rotate keys"))
        assert ranking.notes == {chunk: {"estimated": True}}

    def test_related_terms_and_the_intent_are_read_with_the_query(self, snapshot: MemorySnapshot) -> None:
        meanings = HashedMeanings(snapshot)
        self.signal(meanings).rank(plan_of("water", expansion=("estuary",), intent="sailing", intent_weight=0.5))
        self.signal(meanings).rank(plan_of("water", intent="sailing"))
        assert meanings.texts == ["water estuary sailing", "water"]

    def test_of_several_parts_the_nearest_counts_as_much_as_the_whole(self, snapshot: MemorySnapshot) -> None:
        signal, text = self.signal(HashedMeanings(snapshot)), "rotate keys. An even swell."
        parts = ("rotate keys.", "An even swell.")
        whole, *each = (signal.score(plan_of(one), snapshot.places) for one in (text, *parts))
        both = signal.score(plan_of(text, sentences=parts), snapshot.places)
        for chunk, score in both.items():
            assert score == pytest.approx((whole[chunk] + max(one[chunk] for one in each)) / 2)
        ranked = signal.rank(plan_of(text, sentences=parts)).hits
        assert [hit.score for hit in ranked] == pytest.approx(sorted(both.values(), reverse=True))

    def test_the_condition_and_the_pool_hold(self, snapshot: MemorySnapshot) -> None:
        signal = self.signal(HashedMeanings(snapshot))
        only = plan_of("tide", condition=Condition({"path": ("swell.md",)}))
        assert documents_of(snapshot, signal.rank(only)) == ["swell"]
        assert len(signal.rank(plan_of("tide", pool=2, sentences=("keys", "swell"))).hits) == 2

    def test_given_chunks_have_the_scores_of_the_ranking_and_others_none(self, snapshot: MemorySnapshot) -> None:
        signal, plan = self.signal(HashedMeanings(snapshot)), plan_of("even swell")
        assert signal.score(plan, snapshot.places) == pytest.approx({h.chunk: h.score for h in signal.rank(plan).hits})
        assert signal.score(plan, ["not there"]) == {}
