from __future__ import annotations

from datetime import UTC, datetime

import pytest

from small_index import documents_of, indexed, noted, plan_of, scores_of
from watersmeet.core.model import Condition
from watersmeet.signal.lexical import Lexical
from watersmeet.testing.contracts.corpus import page

TIDES = noted(
    often="The tide, the tide and the tide again.",
    once="A tide comes in over the flats at night.",
    none="Nothing but a moon.",
)


def lexical(given, **options: float) -> tuple[Lexical, object]:
    snapshot = indexed(given)
    return Lexical(snapshot.words(Condition()), snapshot, **options), snapshot


def test_more_of_a_rare_word_comes_first_and_what_has_none_is_not_there() -> None:
    signal, snapshot = lexical(TIDES)
    ranking = signal.rank(plan_of("tide"))
    assert (ranking.by, documents_of(snapshot, ranking)) == ("lexical", ["often", "once"])
    assert ranking.whole  # fewer than the pool: there is no other
    assert not signal.rank(plan_of("tide", pool=1)).whole


def test_equal_texts_come_in_the_order_of_their_ids() -> None:
    given = [page(f"{name}.md", ((), "The same swell."), title="Swell") for name in "cab"]
    signal, _ = lexical(given)
    ranking = signal.rank(plan_of("swell"))
    assert [hit.chunk for hit in ranking.hits] == sorted(hit.chunk for hit in ranking.hits)
    assert len({hit.score for hit in ranking.hits}) == 1


@pytest.mark.parametrize("text", ["", "...", "zyzzyva"])
def test_nothing_said_or_nothing_found_is_an_empty_ranking(text: str) -> None:
    signal, _ = lexical(TIDES)
    assert signal.rank(plan_of(text)).hits == ()


def test_given_chunks_have_the_scores_of_the_ranking() -> None:
    signal, snapshot = lexical(TIDES)
    plan = plan_of("tide moon")
    ranked = {hit.chunk: hit.score for hit in signal.rank(plan).hits}
    assert signal.score(plan, snapshot.places) == pytest.approx(ranked)
    assert signal.score(plan, ["not there"]) == {}


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("title", page("x.md", ((), "Nothing."), title="Estuary")),
        ("headings", page("x.md", (("Estuary",), "Nothing."))),
        ("names", page("estuary.md", ((), "Nothing."), title="Other")),
        ("tags", page("x.md", ((), "Nothing."), tags=("estuary",))),
    ],
)
def test_a_bonus_counts_only_if_it_is_set(option: str, given) -> None:
    zero = {"body": 0.0, "title": 0.0, "headings": 0.0, "names": 0.0, "tags": 0.0}
    nothing, _ = lexical([given], **zero)
    assert nothing.rank(plan_of("estuary")).hits == ()
    one, _ = lexical([given], **{**zero, option: 1.0})
    two, _ = lexical([given], **{**zero, option: 2.0})
    single, double = one.rank(plan_of("estuary")).hits, two.rank(plan_of("estuary")).hits
    assert double[0].score == pytest.approx(2 * single[0].score)


def test_words_of_the_intent_count_what_the_plan_says_beside_words_of_the_query() -> None:
    signal, snapshot = lexical(noted(said="A tide.", meant="A moon.", neither="A stone."))
    assert documents_of(snapshot, signal.rank(plan_of("tide", intent_words=("moon",)))) == ["said"]  # weight 0
    half = scores_of(snapshot, signal.rank(plan_of("tide", intent_words=("moon",), intent_weight=0.5)).hits)
    assert half["meant"] == pytest.approx(0.5 * half["said"])
    assert signal.rank(plan_of("", intent_words=("moon",), intent_weight=1.0)).hits == ()


def test_a_condition_holds_before_the_pool_is_full() -> None:
    signal, snapshot = lexical(TIDES)
    only = plan_of("tide", pool=1, condition=Condition({"path": ("once.md",)}))
    assert documents_of(snapshot, signal.rank(only)) == ["once"]


def test_a_condition_alone_lists_what_is_newest() -> None:
    days = {"old": 1, "new": 9, "between": 5}
    given = [
        page(f"{name}.md", ((), "Text."), tags=("a",), modified=datetime(2026, 1, day, tzinfo=UTC))
        for name, day in days.items()
    ]
    signal, snapshot = lexical(given)
    tagged = Condition({"tag": ("a",)})
    ranking = signal.rank(plan_of("", condition=tagged))
    assert documents_of(snapshot, ranking) == ["new", "between", "old"]
    assert [hit.score for hit in ranking.hits] == pytest.approx([1, 1 / 2, 1 / 3])
    assert documents_of(snapshot, signal.rank(plan_of(" ", condition=tagged, pool=1))) == ["new"]
    assert signal.rank(plan_of("")).hits == ()  # no condition: nothing is asked
