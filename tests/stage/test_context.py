from __future__ import annotations

import pytest

from watersmeet.core.model import Plan, Request
from watersmeet.core.token_count import estimate
from watersmeet.stage.context import Context

PAGE = "# Tides\n\nAll about tides.\n\n" + "".join(
    f"## Part {name}\n\n{name} {' '.join([name.lower() * 3] * 40)}.\n\n" for name in ("One", "Two", "Three", "Four")
)


def shown(out) -> dict[str, list[str]]:
    return {hit.chunk: list(e.detail["context"]) for hit in out.hits for e in hit.evidence if e.by == "context"}


@pytest.fixture
def five(shelf):
    for name in "abcde":
        shelf.put(name, f"text of {name}", document="d.md", headings=("T", name))
    return shelf


def test_one_on_each_side(five, ranked) -> None:
    out = Context(five).apply(ranked({"c": 1.0}), Plan("q"))
    assert shown(out) == {"c": ["b", "c", "d"]}
    assert shown(Context(five, before=0, after=2).apply(ranked({"c": 1.0}), Plan("q"))) == {"c": ["c", "d", "e"]}
    assert shown(Context(five).apply(ranked({"a": 1.0}), Plan("q"))) == {"a": ["a", "b"]}


def test_nothing_is_shown_twice(five, ranked) -> None:
    out = Context(five, before=2, after=2).apply(ranked({"d": 1.0, "b": 0.5}), Plan("q"))
    assert shown(out) == {"d": ["c", "d", "e"], "b": ["a", "b"]}


def test_the_budget_holds_and_a_side_has_no_holes(shelf, ranked) -> None:
    for name, length in (("a", 5), ("b", 500), ("c", 5), ("d", 5), ("e", 5)):
        shelf.put(name, "word " * length, document="d.md")
    assert shown(Context(shelf, before=2, after=2, tokens=50).apply(ranked({"c": 1.0}), Plan("q"))) == {
        "c": ["c", "d", "e"]
    }
    assert shown(Context(shelf, tokens=0).apply(ranked({"c": 1.0}), Plan("q"))) == {}


def test_the_parent_section(shelf, ranked) -> None:
    shelf.put("top", "about all", document="d.md", headings=("T",))
    shelf.put("sub", "first", document="d.md", headings=("T", "A"))
    shelf.put("far", "second", document="d.md", headings=("T", "B"))
    stage = Context(shelf, before=0, after=0, parent=True)
    assert shown(stage.apply(ranked({"far": 1.0}), Plan("q"))) == {"far": ["top", "far"]}
    assert shown(stage.apply(ranked({"top": 1.0}), Plan("q"))) == {}


def test_only_what_will_be_shown_is_looked_at(five, ranked) -> None:
    out = Context(five).apply(ranked({"a": 1.0, "e": 0.5}), Plan("q", top_n=1))
    assert [hit.chunk for hit in out.hits] == ["a", "e"]
    assert set(shown(out)) == {"a"}


def test_a_reader_gets_the_neighbours_and_no_more_results(staged, write) -> None:
    plain = staged("unit", "top")
    plain.sync([write({"tides.md": PAGE, "other.md": "# Other\n\nTwo of us.\n"})])
    engine = staged("unit", "top", "context", stage={"context": {"tokens": 300}})
    for top_n in (1, 2, 10):
        answer = engine.search(Request("Part Two", top_n=top_n))
        assert [r.id for r in answer.results] == [r.id for r in plain.search(Request("Part Two", top_n=top_n)).results]
        assert not answer.failures
    before = plain.search(Request("Part Two", top_n=1)).results[0]
    after = engine.search(Request("Part Two", top_n=1)).results[0]
    assert "twotwotwo" in before.text
    assert "oneoneone" not in before.text
    for said in ("oneoneone", "twotwotwo", "threethreethree"):
        assert said in after.text
    assert after.text.index("oneoneone") < after.text.index("## Part Two") < after.text.index("twotwotwo")
    assert "fourfourfour" not in after.text
    assert after.lines[0] < before.lines[0] < before.lines[1] < after.lines[1]
    assert estimate(after.text) <= estimate(before.text) + 300
    small = staged("unit", "top", "context", stage={"context": {"tokens": 20}})
    assert small.search(Request("Part Two", top_n=1)).results[0].text == before.text
    parent = staged("unit", "top", "context", stage={"context": {"before": 0, "after": 0, "parent": True}})
    assert "All about tides." in parent.search(Request("Part Four", top_n=1)).results[0].text
