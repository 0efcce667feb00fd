from __future__ import annotations

import pytest

from small_index import TermMeanings, documents_of, noted, plan_of
from watersmeet.core.model import Condition
from watersmeet.signal.sparse import Sparse

GIVEN = noted(
    rare="A zeppelin over the harbour.",
    common="The harbour, the harbour and the harbour.",
    other="A harbour for boats.",
    none="Nothing of it.",
)


@pytest.fixture(scope="module")
def terms() -> TermMeanings:
    return TermMeanings(GIVEN)


def test_a_rare_term_counts_for_more_than_a_common_one(terms: TermMeanings) -> None:
    ranking = Sparse(terms).rank(plan_of("zeppelin harbour"))
    assert ranking.by == "sparse"
    assert documents_of(terms.snapshot, ranking)[0] == "rare"
    assert set(documents_of(terms.snapshot, ranking)) == {"rare", "common", "other"}


@pytest.mark.parametrize("text", ["", "?!", "zyzzyva"])
def test_no_term_in_common_is_an_empty_ranking(terms: TermMeanings, text: str) -> None:
    assert Sparse(terms).rank(plan_of(text)).hits == ()


def test_related_terms_are_asked_for_too(terms: TermMeanings) -> None:
    assert documents_of(terms.snapshot, Sparse(terms).rank(plan_of("airship", expansion=("zeppelin",)))) == ["rare"]


def test_the_condition_and_the_pool_hold(terms: TermMeanings) -> None:
    only = plan_of("zeppelin harbour", condition=Condition({"path": ("other.md",)}))
    assert documents_of(terms.snapshot, Sparse(terms).rank(only)) == ["other"]
    assert documents_of(terms.snapshot, Sparse(terms).rank(plan_of("zeppelin harbour", pool=1))) == ["rare"]


def test_given_chunks_have_the_scores_of_the_ranking(terms: TermMeanings) -> None:
    plan, places = plan_of("zeppelin harbour"), terms.snapshot.places
    ranked = {hit.chunk: hit.score for hit in Sparse(terms).rank(plan).hits}
    assert Sparse(terms).score(plan, places) == pytest.approx(ranked)
    assert Sparse(terms).score(plan, []) == {}
