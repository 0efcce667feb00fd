from __future__ import annotations

from watersmeet.core.model import Plan
from watersmeet.stage.phrase import Phrase


def test_neighbours_in_the_query_that_are_neighbours_in_the_passage_lift_it(shelf, ranked) -> None:
    shelf.put("apart", text="a key is a thing that one may rotate, now and then, as one rotates crops")
    shelf.put("together", text="rotate key after key")
    ranking = ranked({"apart": 1.0, "together": 0.95})
    found = Phrase(shelf).apply(ranking, Plan("rotate key", words=("rotate", "key")))
    assert [hit.chunk for hit in found.hits] == ["together", "apart"]
    assert found.hits[0].evidence[-1].detail["bonus"] > 0
    assert found.hits[1] == ranking.hits[0]


def test_a_single_word_has_no_neighbours(shelf, ranked) -> None:
    shelf.put("a", text="key")
    ranking = ranked({"a": 1.0})
    assert Phrase(shelf).apply(ranking, Plan("key", words=("key",))) == ranking
