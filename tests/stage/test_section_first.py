"""The section before the introduction of its page."""

from __future__ import annotations

from watersmeet.core.model import Plan
from watersmeet.stage.section_first import SectionFirst

QUERY = Plan("refund for sync", words=("refund", "sync"))


def _pages(shelf, introduction: str = "All about Sync and refund.") -> None:
    shelf.put("intro", introduction, "sync.md", "Sync")
    shelf.put("refund", "You get a refund within seven days of buying Sync.", "sync.md", "Sync", ("Refunds",))
    shelf.put("other", "Something about a refund.", "other.md", "Other")


def test_the_section_takes_the_place_of_the_introduction(shelf, ranked) -> None:
    _pages(shelf)
    found = SectionFirst(shelf).apply(ranked({"intro": 1.0, "other": 0.8, "refund": 0.7}), QUERY)
    assert [hit.chunk for hit in found.hits] == ["refund", "other", "intro"]
    assert [e.by for hit in found.hits for e in hit.evidence] == ["section_first", "section_first"]


def test_a_long_introduction_stays(shelf, ranked) -> None:
    _pages(shelf, "Sync and refund. " * 30)
    ranking = ranked({"intro": 1.0, "other": 0.8, "refund": 0.7})
    assert SectionFirst(shelf).apply(ranking, QUERY) is ranking


def test_a_section_with_fewer_words_of_the_query_or_far_behind_does_not_move(shelf, ranked) -> None:
    _pages(shelf)
    far = ranked({"intro": 1.0, "other": 0.8, "refund": 0.4})
    assert SectionFirst(shelf).apply(far, QUERY) is far
    shelf.put("refund", "Seven days.", "sync.md", "Sync", ("Money",))
    near = ranked({"intro": 1.0, "other": 0.8, "refund": 0.7})
    assert SectionFirst(shelf).apply(near, QUERY) is near


def test_a_query_for_the_page_itself_gets_its_beginning(shelf, ranked) -> None:
    _pages(shelf)
    ranking = ranked({"intro": 1.0, "other": 0.8, "refund": 0.7})
    assert SectionFirst(shelf).apply(ranking, Plan("Sync", words=("sync",))) is ranking


def test_a_section_that_leads_stays(shelf, ranked) -> None:
    _pages(shelf)
    ranking = ranked({"refund": 1.0, "other": 0.8, "intro": 0.7})
    assert SectionFirst(shelf).apply(ranking, QUERY) is ranking
