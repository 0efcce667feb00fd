"""`#tag` in a query: a filter, and the rest is searched for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.model import Condition, Plan, Request
from watersmeet.engine.settings.settings import load
from watersmeet.query.tags import Tags


def test_a_tag_is_taken_out_and_filters() -> None:
    plan = Tags().apply(Plan("rotate #security keys"))
    assert (plan.text, plan.condition) == ("rotate keys", Condition({"tag": ("security",)}))


def test_several_tags_must_all_hold_beside_what_was_asked_for() -> None:
    plan = Tags().apply(Plan("#a-b, #c/d!", condition=Condition({"tag": ("x", "y")})))
    assert plan.text == ""
    assert plan.condition == Condition({"tag": ("x", "y")}, also=(("tag", ("a-b",)), ("tag", ("c/d",))))


@pytest.mark.parametrize("text", ["#123 fails", "C# generics", "#", "colour #ff8800", "#fff", "a#b", "see x.html#top"])
def test_what_is_no_tag_stays(text: str) -> None:
    assert Tags().apply(Plan(text)) == Plan(text)


@given(st.text("#ab1 -,(", max_size=20) | st.text(max_size=40))
def test_twice_is_once(text: str) -> None:
    once = Tags().apply(Plan(text))
    assert Tags().apply(once) == once


def test_tags_need_no_blank_between_them() -> None:
    assert Tags().apply(Plan("#a#b c")).condition == Condition({"tag": ("a",)}, also=(("tag", ("b",)),))


@pytest.fixture
def tagged(tmp_path: Path, write) -> Engine:  # type: ignore[no-untyped-def] # fixture
    root = write(
        {
            "old.md": "---\ntags: [alpha, beta]\n---\n# Old\n\nTides of the river.\n\n## More\n\nBanks.\n",
            "new.md": "---\ntags: [alpha]\n---\n# New\n\nTides of the sea.\n",
            "none.md": "# None\n\nTides of the moon.\n",
        }
    )
    os.utime(root / "old.md", (1_600_000_000, 1_600_000_000))
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__PIPELINE__UNDERSTAND": '["tags", "words"]'}
    engine = Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ))
    engine.sync([root])
    return engine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tides", {"old.md", "new.md", "none.md"}),
        ("tides #alpha", {"old.md", "new.md"}),
        ("#ALPHA tides #beta", {"old.md"}),
        ("tides #gamma", set()),
    ],
)
def test_every_result_carries_every_tag(tagged: Engine, query: str, found: set[str]) -> None:
    assert {result.document for result in tagged.search(query).results} == found


def test_nothing_but_tags_lists_the_documents_newest_first(tagged: Engine) -> None:
    found = tagged.search("#alpha").results
    assert [result.document for result in found] == ["new.md", "old.md"]
    assert found[0].score == 1.0
    assert "Tides" in found[1].text
    assert [r.document for r in tagged.search(Request("#alpha #beta")).results] == ["old.md"]
    assert not tagged.search("#gamma").results
    assert not tagged.search("?!").results
