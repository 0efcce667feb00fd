"""Required phrases and excluded words."""

from __future__ import annotations

from watersmeet.core.entities import VIRTUAL
from watersmeet.core.model import Operator, Passage, Plan
from watersmeet.core.place import Place
from watersmeet.stage.operators import Operators


def test_without_operators_nothing_is_read(ranked) -> None:
    ranking = ranked({"a": 1.0, "b": 0.5})
    assert Operators(None).apply(ranking, Plan("any words")) is ranking  # type: ignore[arg-type]


def test_phrases_and_exclusions_hold_for_title_headings_and_text(shelf, ranked) -> None:
    shelf.put("text", "the red house")
    shelf.put("heading", "painted", headings=("Paint", "The red house"))
    shelf.put("apart", "the house is red")
    shelf.put("old", "the red house is old", title="Houses")
    plan = Plan("red house", operators=(Operator("phrase", "Red House"), Operator("without", "old")))
    found = Operators(shelf).apply(ranked({"apart": 0.9, "old": 0.8, "text": 0.7, "heading": 0.6}), plan)
    assert [hit.chunk for hit in found.hits] == ["text", "heading"]


def test_an_operator_that_does_not_apply_drops_nothing(shelf, ranked) -> None:
    shelf.put("a", "anything")
    plan = Plan("x", operators=(Operator("phrase", "x y", False, "no passage has it"),))
    assert len(Operators(shelf).apply(ranked({"a": 1.0}), plan).hits) == 1


def test_tools_of_a_virtual_server_cannot_be_probed(shelf, ranked) -> None:
    shelf.held["v"] = Passage("v", "/v", VIRTUAL, "Virtual", "/v", None, (), Place((1, 1)), "hidden tool")
    ranking = ranked({"v": 1.0})
    assert not Operators(shelf).apply(ranking, Plan("x", operators=(Operator("phrase", "hidden tool"),))).hits
    assert Operators(shelf).apply(ranking, Plan("x", operators=(Operator("without", "hidden"),))).hits
