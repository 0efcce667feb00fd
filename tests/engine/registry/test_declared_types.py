"""Entity types that the settings declare: found, filtered, listed and changed like the built-in ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registries import PATHS, ask, opened
from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.registry.types import admitted
from watersmeet.engine.settings.settings import load
from watersmeet.engine.settings.trust import filter_untrusted

DATASET = {
    "label": "Datasets",
    "title": "title",
    "description": "summary",
    "fields": {"columns": "semantic", "licence": "keyword", "subtitle": "shown", "rows": "shown"},
}
TYPES = json.dumps({"dataset": DATASET, "prompt": {}})
RIVERS: dict[str, Any] = {
    "entity_type": "dataset",
    "path": "/data/rivers",
    "title": "River gauges",
    "summary": "Daily levels of water",
    "columns": ["station", "discharge"],
    "licence": "odbl",
    "subtitle": "zebra",
    "rows": 120000,
    "tags": ["hydrology"],
    "source": "unicorn",
}
SECRET = {**RIVERS, "path": "/data/secret", "title": "Spring wells", "visibility": "private", "owner": "ann"}
PROMPT = {"entity_type": "prompt", "name": "Summarise minutes", "description": "Shortens the notes of a meeting"}
WEATHER = {"path": "/weather", "server_name": "Weather", "description": "Forecasts of rain and levels of rivers"}
RECORDS = [RIVERS, SECRET, PROMPT, WEATHER]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with opened(tmp_path_factory.mktemp("types"), REGISTRY__TYPES=TYPES) as made:
        report = made.registry.register(RECORDS)
        assert (report.registered, report.skipped) == (4, [])
        yield made


def found(answer: dict[str, Any]) -> list[str]:
    return [item["path"] for item in answer["custom"]]


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
@pytest.mark.parametrize("query", ["gauges", "daily levels", "discharge", "odbl", "rivers", "#hydrology"])
def test_it_is_found_by_what_is_searched(engine: Engine, recipe: str, mode: str, query: str) -> None:
    how = {"mode": mode} if not query.startswith("#") else {"mode": "lexical"}
    first = ask(engine, query, recipe, viewer=EVERYONE, **how)["custom"][0]
    assert {key: first[key] for key in ("entity_type", "path", "name", "description", "tags", "label")} == {
        "entity_type": "dataset",
        "path": "/data/rivers",
        "name": "River gauges",
        "description": "Daily levels of water",
        "tags": ["hydrology"],
        "label": "Datasets",
    }
    assert 0 < first["relevance_score"] <= 1
    assert first["metadata"] == {key: RIVERS[key] for key in DATASET["fields"]}


@pytest.mark.parametrize("query", ["zebra", "120000", "unicorn"])
def test_what_is_only_shown_finds_nothing(engine: Engine, query: str) -> None:
    assert found(ask(engine, query, mode="lexical")) == []
    assert engine.search(query, mode="lexical").results == ()
    assert engine.search("odbl", mode="lexical").results[0].kind == "custom:dataset"


def test_filters_lists_and_counts(engine: Engine) -> None:
    answer = ask(engine, "levels of rivers", entity_types=("dataset",))
    assert (set(found(answer)), answer["total_servers"], answer["total_custom"]) == (
        {"/data/rivers", "/data/secret"},
        0,
        2,
    )
    assert found(ask(engine, "levels of rivers", entity_types=("mcp_server",))) == []
    assert [one["path"] for one in engine.registry.listing("prompt")] == ["/prompt/summarise-minutes"]
    assert len(engine.registry.listing()) == 4
    assert engine.registry.statistics()["entity_types"] == {"mcp_server": 1, "dataset": 2, "prompt": 1}
    assert {tag["tag"]: tag["count"] for tag in engine.registry.tags()} == {"hydrology": 2}
    for asked in (lambda: ask(engine, "x", entity_types=("datset",)), lambda: engine.registry.listing("datset")):
        with pytest.raises(ConfigError, match="no entity type called 'datset'") as error:
            asked()
        assert "'dataset'" in error.value.hint


@pytest.mark.parametrize(("recipe", "mode"), PATHS)
def test_private_ones_are_for_those_who_may_see_them(engine: Engine, recipe: str, mode: str) -> None:
    assert "/data/secret" in found(ask(engine, "spring wells", recipe, mode, viewer=Viewer("ann")))
    assert "/data/secret" not in found(ask(engine, "spring wells", recipe, mode, viewer=EVERYONE))
    assert engine.registry.statistics(EVERYONE)["entity_types"]["dataset"] == 1


def test_status_enabling_and_the_record_as_exported(engine: Engine) -> None:
    registry = engine.registry
    exported = registry.listing("dataset")
    assert registry.register(exported).unchanged == 2
    registry.set_status("/data/rivers", "deprecated")
    assert "/data/rivers" not in found(ask(engine, "gauges"))
    assert "/data/rivers" in found(ask(engine, "gauges", include_deprecated=True))
    registry.set_status("/data/rivers", "active")
    registry.disable("/data/rivers")
    assert "/data/rivers" not in found(ask(engine, "gauges"))
    registry.enable("/data/rivers")
    assert registry.reindex("/data/rivers").reindexed == 1
    (checked,) = registry.check_duplicates([{**RIVERS, "path": "/copy"}])["records"]
    assert checked["duplicates"][0]["path"] == "/data/rivers"
    (first, _) = ask(engine, "gauges", metadata_fields=("rows",))["custom"]
    assert first["metadata"] == {"rows": 120000}


def test_many_servers_do_not_hide_a_few_of_another_type(tmp_path: Path) -> None:
    servers = [Entity("mcp_server", f"/s{n}", f"River levels {n}", "levels of rivers") for n in range(400)]
    sets = [Entity("dataset", f"/d{n}", f"River levels set {n}", "levels of rivers, daily") for n in range(4)]
    with opened(tmp_path, REGISTRY__TYPES=TYPES) as engine:
        engine.registry.put(*servers, *sets)
        for recipe, mode in PATHS:
            assert len(ask(engine, "daily river levels", recipe, mode)["custom"]) == 4, (recipe, mode)
        answer = ask(engine, "daily river levels", mode="lexical", max_results=5)
        assert (len(answer["servers"]), len(answer["custom"])) == (2, 3), "a soft cap of 60 % for each type"


def test_a_declaration_that_is_gone_breaks_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, REGISTRY__TYPES=TYPES) as engine:
        engine.registry.register([RIVERS, {**SECRET, "entity_type": "prompt", "name": "Wells"}])
    with opened(tmp_path) as engine:
        for recipe, mode in PATHS:
            (first,) = ask(engine, "odbl gauges", recipe, mode, viewer=EVERYONE)["custom"]
            assert (first["entity_type"], first["label"], first["name"]) == ("dataset", "dataset", "River gauges")
        assert found(ask(engine, "gauges", entity_types=("dataset",))) == ["/data/rivers"]
        with pytest.raises(ConfigError):  # whether there are private ones is not told
            engine.registry.listing("prompt", viewer=EVERYONE)
        engine.registry.set_status("/data/rivers", "beta")
        assert engine.registry.reindex().reindexed == 2
        report = engine.registry.register([{**RIVERS, "path": "/data/lakes"}])
        assert (report.registered, len(report.skipped)) == (0, 1)
        assert "[registry.types.dataset]" in report.skipped[0].reason
        with pytest.raises(ConfigError, match="no entity type called 'robot'"):
            engine.registry.put(Entity("robot", "/r", "R"))
        assert engine.registry.unregister("/data/rivers") == 1
        with pytest.raises(NotFound):
            engine.registry.get("/data/rivers")


def test_records_from_files_lines_and_a_pipe(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "sets.jsonl").write_text("\n".join(json.dumps({**RIVERS, "path": f"/d/{n}"}) for n in range(2)))
    (folder / "untyped.yaml").write_text("- title: Lakes\n  columns: [depth]\n- title: Seas\n")
    with opened(tmp_path, REGISTRY__TYPES=TYPES) as engine:
        registry = engine.registry
        assert registry.register(folder, kind="dataset").registered == 4
        assert registry.register(json.dumps({"entities": [RIVERS]}).encode()).registered == 1
        beir = {"_id": "/b", "title": "Ponds", "text": "Shallow", "entity_type": "Dataset", "metadata": {"rows": 3}}
        assert registry.register([beir]).registered == 1
        assert {one["path"] for one in registry.listing("dataset")} == {
            "/d/0", "/d/1", "/dataset/lakes", "/dataset/seas", "/data/rivers", "/b",
        }  # fmt: skip
        assert registry.get("/b")["metadata"] == {"rows": 3}
        refused = registry.register([{"entity_type": "datset", "title": "x"}, {**RIVERS, "title": 3, "tags": 4}])
        assert [("'dataset'" in one.reason, "tags" in one.reason) for one in refused.skipped] == [
            (True, False),
            (False, True),
        ]
        with pytest.raises(ConfigError, match="robot"):
            registry.register([RIVERS], kind="robot")


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"skill": {}}, "built in"),
        ({"Data Set": {}}, "cannot be the name"),
        ({"x": {"colour": "red"}}, "no setting 'colour'"),
        ({"x": {"label": "a\x1b[31m"}}, "x.label"),
        ({"x": {"fields": {"a": "fuzzy"}}}, "use one of"),
        ({"x": {"fields": {"owner": "semantic"}}}, "same for all types"),
        ({"x": {"fields": {"@audience": "semantic"}}}, "cannot be the name"),
        ({"x": {"fields": {f"f{n}": "shown" for n in range(51)}}}, "at most 50"),
        ({f"x{n}": {} for n in range(51)}, "at most 50"),
        ({"x": 3}, "is a table"),
    ],
)
def test_a_wrong_declaration_is_named(types: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(flags={"registry": {"types": types}})
    assert said in f"{error.value} {error.value.hint}"


def test_a_folder_may_declare_types_and_nothing_else_of_the_registry() -> None:
    allowed, ignored = filter_untrusted({"registry": {"types": {"dataset": DATASET}, "pinned": ["evil"]}})
    assert allowed == {"registry": {"types": {"dataset": DATASET}}}
    assert ignored == {"registry.pinned": ["evil"]}


def test_a_shared_database_refuses_them() -> None:
    settings = load(flags={"registry": {"records": "mongodb", "types": {"prompt": {}}}})
    refused = admitted(("here", Entity("prompt", "/p", "P")), settings, {})
    assert "MongoDB" in refused[1]
    server = ("here", Entity("mcp_server", "/s", "S"))
    assert admitted(server, settings, {}) is server
