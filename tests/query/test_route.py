"""Rules in order; the first that matches narrows every signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Condition, Plan, Request
from watersmeet.engine.settings import load
from watersmeet.query.route import Route

RULES: list[dict[str, Any]] = [
    {"match": r"\bpython\b|django", "filters": {"sdk": "python"}},
    {"match": "py", "filters": {"sdk": ["other", "none"], "kind": "note"}},
]


def test_the_first_rule_that_matches_wins() -> None:
    route = Route(RULES)
    assert route.apply(Plan("forms in Django, in Python")).condition == Condition({"sdk": ("python",)})
    assert route.apply(Plan("numPy")).condition == Condition({"sdk": ("other", "none"), "kind": ("note",)})
    assert route.apply(Plan("ruby")) == Plan("ruby")


def test_its_filters_hold_beside_those_of_the_request() -> None:
    asked = Condition({"sdk": ("java",), "tag": ("x",)})
    found = Route(RULES).apply(Plan("python", condition=asked)).condition
    assert found == Condition({"sdk": ("java",), "tag": ("x",)}, also=(("sdk", ("python",)),))


@given(st.text("pythondj ", max_size=20) | st.text(max_size=30))
def test_twice_is_once(text: str) -> None:
    once = Route(RULES).apply(Plan(text))
    assert Route(RULES).apply(once) == once


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"match": "(a", "filters": {"sdk": "x"}}, "not closed"),
        ({"match": r"(a)\1", "filters": {"sdk": "x"}}, "backreference"),
        ({"match": "(?=a)", "filters": {"sdk": "x"}}, "linear"),
        ({"match": "", "filters": {"sdk": "x"}}, "no pattern"),
        ({"match": "a"}, "no filters"),
        ({"match": "a", "filters": {"sdk": 3}}, "cannot be 3"),
        ({"match": "a", "filter": {"sdk": "x"}}, "no setting 'filter'"),
    ],
)
def test_a_bad_rule_is_named_when_settings_are_read(tmp_path: Path, rule: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=r"rule 2.*") as caught:
        Route([RULES[0], rule])
    assert why in str(caught.value)
    with pytest.raises(ConfigError, match=r"flag: query.route: rule 1"):
        load(start=str(tmp_path), environ={}, flags={"query": {"route": {"rules": [rule]}}})


def test_a_rule_narrows_every_mode(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def] # fixture
    root = write({"python/setup.md": "# Setup\n\nInstall the django package.\n"})
    other = tmp_path / "other"
    other.mkdir()
    (other / "guide.md").write_text("# Guide\n\nInstall the django package in java, PKG-1.\n", "utf8")
    (tmp_path / "watersmeet.toml").write_text(
        "[pipeline]\nunderstand = ['route', 'words']\n[index]\nvectors = true\ndense = ''\n"
        "[[query.route.rules]]\nmatch = 'django'\nfilters = {sdk = 'python'}\n",
        "utf8",
    )
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={})) as engine:
        engine.sync([root], collection="one", meta={"sdk": "python"})
        engine.sync([other], collection="two", meta={"sdk": "java"})
        for mode in ("lexical", "static", "hybrid", "exact"):
            routed = {r.document for r in engine.search(Request("install django PKG-1", mode=mode)).results}
            free = {r.document for r in engine.search(Request("install package PKG-1", mode=mode)).results}
            assert routed == (set() if mode == "exact" else {"vault/python/setup.md"}), mode
            assert "other/guide.md" in free, mode
        assert not engine.search(Request("django", condition=Condition({"sdk": ("java",)}))).results
