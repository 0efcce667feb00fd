from __future__ import annotations

import pytest

from small_index import documents_of, indexed, plan_of, scores_of
from watersmeet.core.boosts import MAX_BOOST
from watersmeet.core.entities import SERVER, SKILL, Entity, Tool
from watersmeet.core.model import Condition
from watersmeet.signal.boost import Boost
from watersmeet.testing.contracts.corpus import page, registered

EVERYWHERE = Entity(
    SERVER, "/tides", "Tides", "About tides", ("tides",), (Tool("tides", "tides"),), metadata={"topic": "tides"}
)
ENTITIES = [
    EVERYWHERE,
    Entity(SKILL, "/named", "Tides of the sea", "Nothing else"),
    Entity(SKILL, "/told", "Other", "It is about tides and weather"),
    Entity(SKILL, "/tagged", "Third", "Nothing", ("tides",)),
    Entity(SKILL, "/silent", "Fourth", "Nothing"),
]


@pytest.fixture(scope="module")
def snapshot():
    given = [one for entity in ENTITIES for one in registered(entity)]
    return indexed([*given, page("note.md", ((), "A note about tides."))])


@pytest.fixture(scope="module")
def boost(snapshot) -> Boost:
    return Boost(snapshot.entities(Condition()))


def test_each_place_has_its_worth_and_the_full_match_has_all(boost: Boost, snapshot) -> None:
    found = scores_of(snapshot, boost.rank(plan_of("tides")).hits)
    assert found.pop("/tides") == MAX_BOOST
    assert found == {"/named": 3.0, "/told": 2.0, "/tagged": 1.5}  # a note is no entity


def test_places_and_words_are_told(boost: Boost, snapshot) -> None:
    ranking = boost.rank(plan_of("weather tides"))
    told = {
        document: ranking.notes[hit.chunk]
        for document, hit in zip(documents_of(snapshot, ranking), ranking.hits, strict=True)
    }
    assert told["/told"] == {"places": ["description"], "words": 2}
    assert told["/tides"] == {"places": ["path", "name", "description", "tags", "metadata"], "words": 1}


def test_more_words_come_first_at_a_tie() -> None:
    both, one = Entity(SKILL, "/z", "Z", "tides and weather"), Entity(SKILL, "/a", "A", "tides and stones")
    snapshot = indexed([given for entity in (one, both) for given in registered(entity)])
    ranking = Boost(snapshot.entities(Condition())).rank(plan_of("weather tides"))
    assert documents_of(snapshot, ranking) == ["/z", "/a"]
    assert ranking.hits[0].score == ranking.hits[1].score


@pytest.mark.parametrize("text", ["", "of the", "zyzzyva"])
def test_nothing_asked_or_mentioned_is_an_empty_ranking(boost: Boost, snapshot, text: str) -> None:
    assert boost.rank(plan_of(text)).hits == ()
    assert boost.score(plan_of(text), snapshot.places) == {}


def test_the_condition_and_the_pool_hold(boost: Boost, snapshot) -> None:
    skills = plan_of("tides", condition=Condition({"kind": ("skill",)}))
    assert documents_of(snapshot, boost.rank(skills)) == ["/named", "/told", "/tagged"]
    assert documents_of(snapshot, boost.rank(plan_of("tides", pool=2))) == ["/tides", "/named"]


def test_given_chunks_have_the_scores_of_the_ranking(boost: Boost) -> None:
    plan = plan_of("tides")
    ranked = {hit.chunk: hit.score for hit in boost.rank(plan).hits}
    assert boost.score(plan, ranked) == ranked
