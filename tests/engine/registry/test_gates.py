"""Filters, status and visibility hold in every mode and recipe, before anything is ranked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registries import ENTITIES, GROUPS, PATHS, ask, opened, paths
from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.model import Condition
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.registry.requests import EntityRequest


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with opened(tmp_path_factory.mktemp("registry")) as made:
            made.registry.put(*ENTITIES)
            yield made


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize(
    ("flags", "more"),
    [
        ({}, set()),
        ({"include_deprecated": True}, {"/flags/old"}),
        ({"include_draft": True}, {"/flags/new"}),
        ({"include_disabled": True}, {"/flags/off"}),
    ],
)
def test_status_is_the_same_in_every_mode(
    engine: Engine, recipe: str, mode: str, flags: dict[str, bool], more: set[str]
) -> None:
    found = paths(ask(engine, "feature flags", recipe, mode, max_results=50, entity_types=("skill",), **flags))
    assert {path for path in found if path.startswith("/flags")} == {"/flags/one", "/flags/two"} | more


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_all_of_the_tags_must_hold(engine: Engine, recipe: str, mode: str) -> None:
    how: dict[str, Any] = {"recipe": recipe, "mode": mode, "entity_types": ("mcp_server",)}
    assert paths(ask(engine, "pages library #docs", **how)) == {"/wiki", "/context7"}
    assert paths(ask(engine, "pages library", tags=("docs",), **how)) == {"/wiki", "/context7"}
    assert paths(ask(engine, "pages library #docs", tags=("code",), **how)) == {"/context7"}
    assert paths(ask(engine, "pages library #nowhere", **how)) == set()


def test_tags_and_nothing_else(engine: Engine) -> None:
    assert paths(ask(engine, "#docs", mode="lexical")) == {"/wiki", "/context7"}
    answer = engine.registry.search(EntityRequest(tags=("docs", "code"))).to_json()
    assert paths(answer) == {"/context7"}
    assert answer["search_mode"] == "lexical-only"
    assert paths(engine.registry.search(EntityRequest(tags=("secret",), viewer=EVERYONE)).to_json()) == set()


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_a_condition_holds_too(engine: Engine, recipe: str, mode: str) -> None:
    only = Condition({"status": ("beta",)})
    assert paths(ask(engine, "feature flags", recipe, mode, condition=only)) == {"/flags/two"}


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_nothing_tells_of_what_is_withheld(engine: Engine, tmp_path: Path, recipe: str, mode: str) -> None:
    """An answer is the same, figures and totals included, as if it were not there at all."""
    public = [entity for entity in ENTITIES if entity.visibility == "public"]
    with opened(tmp_path) as other:
        other.registry.put(*public)
        for query in ("pdf forms", "pdf", "ann ops"):
            ours = ask(engine, query, recipe, mode, viewer=EVERYONE, max_results=50)
            theirs = ask(other, query, recipe, mode, viewer=EVERYONE, max_results=50)
            assert not {"/private/pdf", "/group/pdf"} & paths(ours)
            assert paths(ours) == paths(theirs)
            assert [ours[f"total_{g}"] for g in GROUPS] == [theirs[f"total_{g}"] for g in GROUPS]


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize(
    ("viewer", "seen"),
    [
        (None, {"/private/pdf", "/group/pdf"}),
        (EVERYONE, set()),
        (Viewer("ann"), {"/private/pdf"}),
        (Viewer("bob", ("ops",)), {"/group/pdf"}),
    ],
)
def test_who_sees_what(engine: Engine, recipe: str, mode: str, viewer: Viewer | None, seen: set[str]) -> None:
    found = paths(ask(engine, "pdf forms", recipe, mode, viewer=viewer, entity_types=("skill",), max_results=50))
    assert {"/private/pdf", "/group/pdf"} & found == seen
    assert "/skills/pdf" in found


# ---------------------------------------------------------------- many of one kind, and models that fail


@pytest.mark.model
@pytest.mark.parametrize("recipe", ["", "registry"])
def test_a_thousand_servers_cannot_hide_three_agents(tmp_path: Path, recipe: str) -> None:
    chance = random.Random(7)  # noqa: S311 - a sample
    words = "booking travel flight hotel ticket seat train airport city tour".split()
    servers = [
        Entity("mcp_server", f"/s{n}", f"Server {n}", " ".join(chance.choices(words, k=12))) for n in range(1000)
    ]
    agents = [
        Entity("a2a_agent", f"/a{n}", f"Agent {n}", f"An agent that does the {name}")
        for n, name in enumerate(("flight booking", "hotel booking", "train ticket"))
    ]
    with opened(tmp_path, INDEX__SPARSE='""') as engine:
        engine.registry.put(*servers, *agents)
        for mode in ("hybrid", "lexical"):
            for number, query in enumerate(("flight booking agent", "hotel booking agent", "train ticket agent")):
                agents_found = [a["path"] for a in ask(engine, query, recipe, mode)["agents"]]
                assert set(agents_found[:3]) == {"/a0", "/a1", "/a2"}
                assert agents_found[0] == f"/a{number}"


def test_a_model_that_fails_is_named_and_the_words_answer(tmp_path: Path) -> None:
    with opened(tmp_path, INDEX__STATIC='""', INDEX__SPARSE='""') as engine:
        engine.registry.put(*ENTITIES)
        assert ask(engine, "context7", mode="hybrid")["search_mode"] == "hybrid"
    with opened(tmp_path, INDEX__STATIC='""', INDEX__SPARSE='""', EMBED__HASHED__DIMENSION="64") as engine:
        for recipe in ("", "registry"):
            answer = engine.registry.search(EntityRequest("context7", recipe=recipe)).to_json()
            assert answer["search_mode"] == "lexical-only"
            assert answer["servers"][0]["relevance_score"] == round(8 / 13.5, 4)
            assert "dense" in {failure["by"] for failure in answer["failures"]}


@pytest.mark.model
def test_a_change_is_searched_at_once(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.registry.put(*ENTITIES)
        for mode in ("hybrid", "lexical"):
            assert "/strava" in paths(ask(engine, "strava", mode=mode))
        engine.registry.set_status("/strava", "deprecated")
        for mode in ("hybrid", "lexical"):
            assert not {path for path in paths(ask(engine, "strava", mode=mode)) if path.startswith("/strava")}
        engine.registry.put(Entity("mcp_server", "/strava", "Bicycle", "Rides"))
        for mode in ("hybrid", "lexical"):
            assert "/strava" in paths(ask(engine, "bicycle", mode=mode))
        assert ask(engine, "segments", mode="lexical")["servers"] == []
        engine.registry.unregister("/strava")
        assert paths(ask(engine, "bicycle", mode="lexical")) == set()


@pytest.mark.model
def test_documents_beside_a_registry_are_not_entities(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "context7.md").write_text("# Context7\n\ncontext7 context7 docs\n", "utf8")
    with opened(tmp_path) as engine:
        engine.sync([notes])
        engine.registry.put(*ENTITIES)
        for recipe, mode in PATHS:
            found = paths(ask(engine, "context7", recipe, mode))
            assert "/context7" in found
            assert not any(path.endswith(".md") for path in found)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["", "registry"])
def test_the_best_match_is_found_however_many_others_there_are(tmp_path: Path, recipe: str) -> None:
    """A limit that cuts before sorting would miss it: it comes last, and all the others mention the word too."""
    others = [Entity("mcp_server", f"/s{n}", f"Server {n}", "All about orders and invoices") for n in range(400)]
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.registry.put(*others, Entity("mcp_server", "/invoices", "Invoices", "Writes them"))
        answer = ask(engine, "invoices", recipe, "lexical", max_results=1)
        assert [server["path"] for server in answer["servers"]] == ["/invoices"]
