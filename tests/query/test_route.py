"""Rules in order; the first that matches narrows every signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, UnknownComponent
from watersmeet.core.model import Condition, Plan, Request, RouteMatch
from watersmeet.engine.settings.settings import load
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


def test_the_plan_says_which_rule_matched_and_what_it_added() -> None:
    rules = [*RULES, {"match": "^ERR", "weights": {"lexical": 2}, "only": ["lexical", "exact"]}]
    route = Route(rules)
    assert route.apply(Plan("ruby")).routed == ()
    (second,) = route.apply(Plan("numPy")).routed
    assert second == RouteMatch(2, "py", {"sdk": ("other", "none"), "kind": ("note",)}, {}, ())
    plan = route.apply(Plan("ERR-4", weights={"dense": 0.5}))
    assert plan.routed == (RouteMatch(3, "^ERR", {}, {"lexical": 2.0}, ("lexical", "exact")),)
    assert (plan.weights, plan.only) == ({"dense": 0.5, "lexical": 2.0}, ("lexical", "exact"))
    assert plan.condition == Condition()


def test_its_filters_hold_beside_those_of_the_request() -> None:
    asked = Condition({"sdk": ("java",), "tag": ("x",)})
    found = Route(RULES).apply(Plan("python", condition=asked)).condition
    assert found == Condition({"sdk": ("java",), "tag": ("x",)}, also=(("sdk", ("python",)),))


@pytest.mark.slow
@given(st.text("pythondj ", max_size=20) | st.text(max_size=30))
def test_twice_is_once(text: str) -> None:
    once = Route(RULES).apply(Plan(text))
    assert Route(RULES).apply(once) == once


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"match": "(a", "filters": {"sdk": "x"}}, "missing )"),
        ({"match": r"(a)\1", "filters": {"sdk": "x"}}, "backreference"),
        ({"match": "(?=a)", "filters": {"sdk": "x"}}, "not supported"),
        ({"match": "", "filters": {"sdk": "x"}}, "no pattern"),
        ({"match": "a"}, "no filters"),
        ({"match": "a", "filters": {"sdk": 3}}, "cannot be 3"),
        ({"match": "a", "filter": {"sdk": "x"}}, "no setting 'filter'"),
        ({"match": "a", "filters": ["sdk"]}, "filters cannot be"),
        ({"match": "a", "weights": {"lexical": -1}}, "lexical cannot be -1"),
        ({"match": "a", "weights": {"lexical": "much"}}, "lexical cannot be 'much'"),
        ({"match": "a", "only": "exact"}, "only cannot be 'exact'"),
        ({"match": "a", "only": [1]}, "only cannot be"),
    ],
)
def test_a_bad_rule_is_named_when_settings_are_read(tmp_path: Path, rule: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=r"rule 2.*") as caught:
        Route([RULES[0], rule])
    assert why in str(caught.value)
    with pytest.raises(ConfigError, match=r"flag: query.route: rule 1"):
        load(start=str(tmp_path), environ={}, flags={"query": {"route": {"rules": [rule]}}})


@pytest.mark.model
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
            assert routed == (set() if mode == "exact" else {"python/setup.md"}), mode
            assert "other/guide.md" in free, mode
        assert not engine.search(Request("django", condition=Condition({"sdk": ("java",)}))).results


@pytest.mark.model
def test_a_rule_weighs_signals_or_leaves_some_out(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def] # fixture
    def engine(*rules: dict[str, Any]) -> Engine:
        flags = {"index": {"dense": ""}, "query": {"route": {"rules": list(rules)}}}
        return Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=flags))

    def voted(made: Engine, query: str) -> tuple[tuple[RouteMatch, ...], dict[str, float]]:
        answer = made.search(Request(query))
        weights = {e.by: e.detail["weight"] for e in answer.results[0].evidence if "weight" in e.detail}
        return answer.routed, weights

    with engine() as made:
        made.sync([write({f"{n}.md": f"# Page {n}\n\nThe error E{n} of the heron.\n" for n in range(5)})])
        assert voted(made, "heron error")[0] == ()
        before = voted(made, "heron error")[1]
    with engine({"match": "heron", "weights": {"lexical": 0.9}}) as made:
        (rule,), weights = voted(made, "heron error")
        assert (rule.rule, rule.match, rule.weights) == (1, "heron", {"lexical": 0.9})
        assert weights["lexical"] / weights["static"] > before["lexical"] / before["static"]
    with engine({"match": r"\bE\d", "only": ["lexical", "exact"]}) as made:
        (rule,), weights = voted(made, "heron E3")
        assert rule.only == ("lexical", "exact") == tuple(sorted(weights, reverse=True))
        assert "static" in voted(made, "heron")[1]


@pytest.mark.parametrize("rule", [{"weights": {"lexicl": 1.0}}, {"only": ["lexicl"]}])
def test_a_signal_that_there_is_not_is_named(tmp_path: Path, write, rule: dict[str, Any]) -> None:  # type: ignore[no-untyped-def] # fixture
    flags = {"index": {"vectors": False}, "query": {"route": {"rules": [{"match": "a", **rule}]}}}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=flags)) as engine:
        engine.sync([write({"a.md": "# A\n\na heron\n"})])
        with pytest.raises(UnknownComponent, match="no signal called 'lexicl'") as caught:
            engine.search("a heron")
    assert "lexical" in caught.value.hint


def test_a_rule_can_leave_out() -> None:
    step = Route(rules=[{"match": "backup", "filters": {"path!": "old/**", "tag": "x"}}])
    plan = step.apply(Plan("backup of keys"))
    assert plan.condition.without == (("path", ("old/**",)),)
    assert plan.condition.fields == {"tag": ("x",)}
