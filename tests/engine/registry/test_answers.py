"""What an answer of the registry says of itself: what ran, how sure it is, and no result that is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from registries import ENTITIES, GROUPS, PATHS, ask, opened, paths, ranked
from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Request
from watersmeet.engine.registry.requests import EntityRequest

MORE = [
    Entity("virtual_server", "/virtual/team", "Team", "Shared", metadata={"created_by": "quentin"}),
    Entity("skill", "/skills/tex", "tex", "Sets type", metadata={"registry_name": "zanzibar-hub", "tag": "docs"}),
    Entity(
        "mcp_server", "/codes", "Codes", "Explains TRN-1042 and other codes", tools=(Tool("trn_lookup", "TRN-1042"),)
    ),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with opened(tmp_path_factory.mktemp("registry")) as made:
            made.registry.put(*ENTITIES, *MORE)
            made.deepen(tiers=("sparse",))
            yield made


# ---------------------------------------------------------------- what only words can find


@pytest.mark.model
@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize(("query", "path"), [("quentin", "/virtual/team"), ("zanzibar", "/skills/tex")])
def test_metadata_that_no_model_reads_is_found_by_its_words(
    engine: Engine, recipe: str, mode: str, query: str, path: str
) -> None:
    first = next(item for item in ranked(ask(engine, query, recipe, mode)) if item.get("path") == path)
    assert first["matched"] == ["metadata"]
    result = next(result for result in engine.search(Request(query, mode=mode)).results if result.document == path)
    assert any(evidence.by == "lexical" and evidence.rank == 1 for evidence in result.evidence)
    assert query not in result.text


@pytest.mark.model
@pytest.mark.parametrize("recipe", ["", "registry"])
@pytest.mark.parametrize(
    ("query", "path", "score"),
    [
        ("4.5.6", "/skills/papers", 1.0),
        ("tax return", "/skills/papers", 1.0),
        ("gold", "/skills/papers", 1.0),
        ("s3", "/s3", 5.0),
    ],
)
def test_what_is_found_by_words_alone(
    tmp_path_factory: pytest.TempPathFactory, recipe: str, query: str, path: str, score: float
) -> None:
    skill = {"path": "/skills/papers", "name": "forms", "version": "4.5.6", "extra": {"tier": ["gold"]}}
    records = [{**skill, "examples": ["fill my tax return"]}, {"path": "/s3", "server_name": "Buckets"}]
    with opened(tmp_path_factory.mktemp("words")) as few:
        few.registry.register(records)
        (found,) = ranked(ask(few, query, recipe, "lexical"))
    assert (found["path"], found["relevance_score"]) == (path, pytest.approx(score / 13.5, abs=1e-4))
    assert found["matched"] == ["metadata" if score == 1 else "path"]


# ---------------------------------------------------------------- tags


def test_metadata_is_no_tag(engine: Engine) -> None:
    assert paths(ask(engine, tags=("docs",), mode="lexical")) == {"/context7", "/wiki"}
    assert "/skills/tex" not in paths(ask(engine, "#docs sets type", mode="lexical"))


@pytest.mark.parametrize("tags", [("#",), ("",), ("docs", " # ")])
@pytest.mark.parametrize("query", ["", "pages"])
def test_a_tag_without_a_name_is_refused(engine: Engine, tags: tuple[str, ...], query: str) -> None:
    with pytest.raises(ConfigError, match="is not a tag"):
        engine.registry.search(EntityRequest(query, tags=tags)).to_json()


# ---------------------------------------------------------------- what ran


@pytest.mark.parametrize("recipe", ["", "registry"])
def test_exact_is_exact(engine: Engine, recipe: str) -> None:
    answer = engine.registry.search(EntityRequest("TRN-1042 documentation", mode="exact", recipe=recipe)).to_json()
    assert (answer["mode"], answer["search_mode"]) == ("exact", "lexical-only")
    assert paths(answer) <= {"/codes", "/codes#trn_lookup"}
    assert answer["servers"][0]["path"] == "/codes"
    assert (
        engine.registry.search(EntityRequest("documentation", mode="exact", recipe=recipe)).to_json()["total_servers"]
        == 0
    )
    found = engine.registry.find_tools("TRN-1042 documentation", mode="exact", recipe=recipe).to_json()
    assert (found["mode"], [tool["tool_name"] for tool in found["tools"]]) == ("exact", ["trn_lookup"])


# ---------------------------------------------------------------- the floor (C3, F83)


@pytest.mark.model
@pytest.mark.parametrize("recipe", ["", "registry"])
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "exact", "static", "dense", "sparse"])
@pytest.mark.parametrize("query", ["fill in forms", "documentation of a library", "TRN-1042", "development tools"])
def test_no_result_is_at_nothing(engine: Engine, recipe: str, mode: str, query: str) -> None:
    answer = engine.registry.search(EntityRequest(query, mode=mode, recipe=recipe)).to_json()
    scores = [item["relevance_score"] for item in ranked(answer)]
    assert all(0 < score <= 1 for score in scores)
    if mode != "exact":
        assert scores


@pytest.mark.parametrize("recipe", ["", "registry"])
@pytest.mark.parametrize("mode", ["lexical", "static", "dense", "sparse"])
def test_the_floor_holds_where_one_signal_speaks(engine: Engine, recipe: str, mode: str) -> None:
    """What is below a fifth of the best is left out, unless fewer than three remain."""
    answer = engine.registry.search(EntityRequest("fill in forms", mode=mode, recipe=recipe, max_results=50)).to_json()
    scores = [item["relevance_score"] for item in ranked(answer)]
    assert len(scores) >= 2
    assert all(score >= 0.2 * scores[0] - 1e-3 for score in scores[3:])


def test_the_floor_of_one_signal_is_not_inert(engine: Engine) -> None:
    answer = engine.registry.search(
        EntityRequest("fill in forms", mode="static", recipe="registry", max_results=50)
    ).to_json()
    assert 3 <= len(ranked(answer)) < len(ENTITIES) + len(MORE) - 3


@pytest.mark.model
@pytest.mark.parametrize("recipe", ["", "registry"])
def test_two_entities_both_stay(tmp_path_factory: pytest.TempPathFactory, recipe: str) -> None:
    with opened(tmp_path_factory.mktemp("two")) as small:
        small.registry.put(Entity("skill", "/a", "pdf", "Fill in forms"), Entity("skill", "/b", "car", "Drive to town"))
        answer = ask(small, "fill in forms", recipe)
        assert [skill["path"] for skill in answer["skills"]] == ["/a", "/b"]
        assert answer["skills"][1]["relevance_score"] > 0


# ---------------------------------------------------------------- how sure it is


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_an_answer_says_how_sure_it_is(engine: Engine, recipe: str, mode: str) -> None:
    def sure(query: str) -> tuple[float, bool]:
        made = ask(engine, query, recipe, mode)
        return made["confidence"], made["no_good_match"]

    good, bad = sure("documentation of any library, up to date"), sure("xylophone quartet rehearsal zebra")
    assert good[0] > bad[0]
    assert bad[1] is True


def test_tools_come_with_how_sure_they_are(engine: Engine) -> None:
    good = engine.registry.find_tools("query the docs of a library").to_json()
    bad = engine.registry.find_tools("xylophone quartet rehearsal zebra").to_json()
    assert 0 <= bad["confidence"] < good["confidence"] <= 1
    assert bad["no_good_match"] is True


def test_a_list_of_what_carries_a_tag_is_neither_sure_nor_unsure(engine: Engine) -> None:
    answer: dict[str, Any] = ask(engine, tags=("docs",), mode="lexical")
    assert (answer["confidence"], answer["no_good_match"]) == (None, False)
    assert sum(answer[f"total_{group}"] for group in GROUPS) == 2
