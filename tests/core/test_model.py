"""A ranking holds what it promises: descending, each chunk once, the same for the same hits."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import ChunkId, Condition, Hit, Ranking, Request

NAN = float("nan")


def hit(chunk: str, score: float) -> Hit:
    return Hit(ChunkId(chunk), score)


def ids(ranking: Ranking) -> list[str]:
    return [hit.chunk for hit in ranking.hits]


HITS = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(allow_nan=False))
).map(lambda scores: [hit(chunk, score) for chunk, score in scores.items()])


def test_order_is_checked() -> None:
    assert ids(Ranking("x", (hit("a", 2.0), hit("b", 1.0), hit("c", 1.0)))) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="x: hits are not in descending order"):
        Ranking("x", (hit("a", 1.0), hit("b", 2.0)))


def test_a_chunk_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="x: a chunk is ranked twice"):
        Ranking("x", (hit("a", 2.0), hit("a", 1.0)))
    with pytest.raises(ValueError, match="twice"):
        Ranking.of("x", [hit("a", 1.0), hit("a", 1.0)])


@pytest.mark.parametrize("scores", [(NAN,), (1.0, NAN), (NAN, 1.0), (2.0, NAN, 1.0)])
def test_a_score_that_is_no_number_is_refused(scores: tuple[float, ...]) -> None:
    hits = [hit(f"c{number}", score) for number, score in enumerate(scores)]
    with pytest.raises(ValueError, match="descending"):
        Ranking("x", tuple(hits))
    with pytest.raises(ValueError, match="descending"):
        Ranking.of("x", hits)
    with pytest.raises(ValueError, match="descending"):
        Ranking.by_score("x", {hit.chunk: hit.score for hit in hits})


def test_an_empty_ranking_is_a_ranking() -> None:
    assert Ranking("x").hits == Ranking.of("x", []).hits == ()


@pytest.mark.slow
@given(HITS, st.randoms(use_true_random=False))
def test_of_does_not_depend_on_the_order_of_its_hits(hits: list[Hit], rng: random.Random) -> None:
    expected = Ranking.of("x", hits)
    rng.shuffle(hits)
    assert Ranking.of("x", hits) == expected
    assert sorted(ids(expected)) == sorted(hit.chunk for hit in hits)


def test_equal_scores_are_told_apart_by_id() -> None:
    assert ids(Ranking.of("x", [hit("b", 1.0), hit("c", 2.0), hit("a", 1.0)])) == ["c", "a", "b"]


@pytest.mark.slow
@given(HITS, st.randoms(use_true_random=False))
def test_by_score_is_of_a_mapping(hits: list[Hit], rng: random.Random) -> None:
    expected = Ranking.of("x", hits)
    rng.shuffle(hits)
    made = Ranking.by_score("x", {hit.chunk: hit.score for hit in hits})
    assert made == expected
    filled = made.with_filled({ChunkId("elsewhere"): 0.5})
    assert (filled.by, filled.hits, filled.filled) == ("x", made.hits, {"elsewhere": 0.5})
    assert made.filled == {}


def test_nouns_are_frozen() -> None:
    for noun, name in ((Request("q"), "query"), (hit("a", 1.0), "score"), (Ranking("x"), "hits")):
        with pytest.raises(AttributeError):
            setattr(noun, name, None)


def test_a_condition_is_true_if_it_restricts() -> None:
    assert not Condition()
    assert Condition({"tag": ("a",)})
