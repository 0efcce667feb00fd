from __future__ import annotations

import pytest

from watersmeet.core.model import Plan
from watersmeet.stage.anchor import Anchor


def score(shelf, ranked, anchors: tuple[str, ...], text: str, **said: str) -> float:
    shelf.put("a", text, **said)
    return Anchor(shelf).apply(ranked({"a": 2.0}), Plan("q", anchors=anchors)).hits[0].score


def test_exactly_half_as_much_again(shelf, ranked) -> None:
    shelf.put("with", "Room D40 is cold.")
    shelf.put("without", "Room D41 is cold.")
    out = Anchor(shelf).apply(ranked({"with": 0.5, "without": 0.5}), Plan("q", anchors=("D40",)))
    assert [hit.chunk for hit in out.hits] == ["with", "without"]
    assert out.hits[0].score / out.hits[1].score == 1.5
    (evidence,) = out.hits[0].evidence
    assert (evidence.by, evidence.rank, evidence.detail) == ("anchor", 1, {"factor": 1.5, "anchors": ["D40"]})
    assert out.hits[1].evidence == ()


@pytest.mark.parametrize(
    ("anchor", "text", "times"),
    [
        ("D40", "see D40.", 1),
        ("D40", "see d40, too", 1),
        ("D40", "D401 and AD40 and D_40", 0),
        ("30 CFR 75.1725", "under 30 CFR\n  75.1725(a)", 1),
        ("75.1725", "175.1725 or 75.17251", 0),
        ("--no-vectors", "run it with --no-vectors", 1),
        ("C++", "C++ templates", 1),
        ("a.b", "axb", 0),
        ("", "anything", 0),
        (" ", "any thing", 0),
        ("Straße", "die STRASSE", 1),
    ],
)
def test_an_anchor_is_a_word_of_its_own(shelf, ranked, anchor: str, text: str, times: int) -> None:
    assert score(shelf, ranked, (anchor,), text) == pytest.approx(2.0 * 1.5**times, abs=1e-12)


def test_each_anchor_counts_once(shelf, ranked) -> None:
    assert score(shelf, ranked, ("D40", "Aboleth", "E1"), "The Aboleth of D40, D40, D40.") == pytest.approx(4.5)
    assert score(shelf, ranked, ("D40", "D40"), "D40") == 3.0


def test_title_and_headings_are_part_of_the_text(shelf, ranked) -> None:
    assert score(shelf, ranked, ("D40",), "A cold room.", title="Region D40") == 3.0
    assert score(shelf, ranked, ("D40",), "A cold room.", headings=("Rooms", "D40")) == 3.0


def test_only_the_first_are_looked_at(shelf, ranked) -> None:
    for number in range(9):
        shelf.put(str(number), "D40" if number >= 4 else "")
    scores = {str(number): 1 - number / 100 for number in range(9)}
    out = Anchor(shelf).apply(ranked(scores), Plan("q", anchors=("D40",), top_n=3))
    assert [hit.chunk for hit in out.hits] == ["4", "5", "0", "1", "2", "3", "6", "7", "8"]
    out = Anchor(shelf, top=5).apply(ranked(scores), Plan("q", anchors=("D40",), top_n=3))
    assert [hit.chunk for hit in out.hits][:2] == ["4", "0"]
