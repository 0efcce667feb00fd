"""A registry of a few entities: whoever says the word is found, and a status that is asked for by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from registries import PATHS, ask, opened, paths, ranked
from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.core.model import Condition, Request

STATUSES = ("active", "beta", "deprecated", "draft")
FEW = (
    Entity("mcp_server", "/pub", "Public zebra", "zebra counting for all", tools=(Tool("count", "count zebras"),)),
    Entity("mcp_server", "/grp", "Group zebra", "zebra grouped"),
    Entity("a2a_agent", "/agents/pa", "PA zebra", "zebra agent"),
    Entity("skill", "/skills/ps", "ps zebra", "zebra skill and a long tale of savannahs, lions and grass"),
    Entity("virtual_server", "/virtual/v", "V zebra", "zebra virtual"),
    Entity("mcp_server", "/far", "Ledger", "double entry for small shops"),
    *(Entity("mcp_server", f"/{status}", f"Okapi {status}", "an okapi", status=status) for status in STATUSES),
    Entity("mcp_server", "/off", "Okapi off", "an okapi", enabled=False),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with opened(tmp_path_factory.mktemp("few"), INDEX__DENSE="") as made:
        made.registry.put(*FEW)
        yield made


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_all_who_say_the_word_are_found(engine: Engine, recipe: str, mode: str) -> None:
    found = paths(ask(engine, "zebra", recipe, mode, max_results=50))
    assert found >= {"/pub", "/grp", "/agents/pa", "/skills/ps", "/virtual/v"}


def test_who_says_nothing_of_it_stays_below_the_floor(engine: Engine) -> None:
    assert "/far" not in paths(ask(engine, "zebra", max_results=50))


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize(
    ("flag", "more"),
    [
        ("", set()),
        ("include_deprecated", {"/deprecated"}),
        ("include_draft", {"/draft"}),
        ("include_disabled", {"/off"}),
    ],
)
def test_each_flag_adds_what_it_says(engine: Engine, recipe: str, mode: str, flag: str, more: set[str]) -> None:
    found = paths(ask(engine, "okapi", recipe, mode, **({flag: True} if flag else {})))
    assert {path for path in found if path in {"/off", *(f"/{s}" for s in STATUSES)}} == {"/active", "/beta", *more}


@pytest.mark.parametrize("mode", ["lexical", "static", "hybrid"])
@pytest.mark.parametrize("status", STATUSES)
def test_a_status_that_is_asked_for_is_found(engine: Engine, mode: str, status: str) -> None:
    condition = Condition({"status": (status,)})
    found = {result.document for result in engine.search(Request("okapi", mode, condition=condition)).results}
    assert found & {f"/{other}" for other in STATUSES} == {f"/{status}"}
    assert f"/{status}" in paths(ask(engine, "okapi", condition=condition))


def test_where_status_is_a_plain_field_nothing_changes(engine: Engine, tmp_path: Path) -> None:
    with opened(tmp_path, INDEX__DENSE="", INDEX__STATIC="") as made:
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "a.md").write_text("---\nstatus: draft\n---\n# A\n\nokapi\n", "utf8")
        made.sync([tmp_path / "notes"])
        assert made.search("okapi").results
        assert made.search("okapi", condition=Condition({"status": ("draft",)})).results


def test_a_frequent_word_keeps_no_entity_above_the_floor(tmp_path: Path) -> None:
    """Three hundred servers mention a word of the query in passing; only one mentions its rare word."""
    servers = [Entity("mcp_server", f"/s{n}", f"Store {n}", "Goods", metadata={"team": "plan"}) for n in range(300)]
    rare = Entity("mcp_server", "/trains", "Trains", "Rails", metadata={"team": "journey plan"})
    travel = Entity("a2a_agent", "/agents/travel", "Travel agent", "Plans by air")
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(rare, *servers, travel)
        answer = ask(engine, "travel agents that plan a journey", mode="lexical")
        scores = {item["path"]: item["relevance_score"] for item in ranked(answer)}
        assert scores["/agents/travel"] == round((5 + 3 + 2) / 13.5, 4)
        assert scores["/trains"] == round(1 / 13.5, 4)
        below = [path for path, score in scores.items() if score < 0.2 * scores["/agents/travel"]]
        assert len(below) <= 3  # what the floor always leaves, and /trains
        kept = ask(engine, "travel agents that plan", mode="lexical")
        assert len(ranked(kept)) == 3
