"""Where settings come from, which wins, and what is said of a wrong one."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, UnknownComponent
from watersmeet.engine.components import KINDS, build, convert, default, find, names, options
from watersmeet.engine.index.location import find_index, index_in, index_to_make
from watersmeet.engine.settings import former_names
from watersmeet.engine.settings.effective import effective
from watersmeet.engine.settings.settings import (
    NAMED,
    SECTIONS,
    cache_folder,
    check,
    from_environ,
    leaves,
    load,
    merge,
    recipes,
)

Tree = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=8,
)
Tables = st.dictionaries(st.text("abc", min_size=1, max_size=2), Tree, max_size=3)


def settings_file(folder: Path, text: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "watersmeet.toml"
    path.write_text(text, "utf8")
    return os.path.realpath(path)


# ------------------------------------------------------------ which one wins


def test_later_layers_win_and_are_named(tmp_path: Path, home: Path) -> None:
    user = settings_file(
        home / "config" / "watersmeet", "[fusion.rrf]\nk = 1\n[pipeline]\npool = 1\n[writer]\nbatch_chunks = 1\n"
    )
    work = tmp_path / "work" / "deep" / "deeper"
    project = settings_file(tmp_path / "work", "[fusion.rrf]\nk = 2\n[pipeline]\npool = 2\n")
    work.mkdir(parents=True)
    environ = {"XDG_CONFIG_HOME": str(home / "config"), "WATERSMEET__FUSION__RRF__K": "3", "OTHER": "x"}
    made = load(start=str(work), environ=environ, flags={"fusion": {"rrf": {"weights": {"lexical": 2.0}}}})
    shown = effective(made)
    assert shown["writer.batch_chunks"] == (1, user)
    assert shown["pipeline.pool"] == (2, project)
    assert shown["fusion.rrf.k"] == (3, "environment")
    assert shown["fusion.rrf.weights.lexical"] == (2.0, "flag")
    assert shown["pipeline.signals"][1] == "recipe default"
    assert shown["index.text"] == ("tantivy", "default")
    assert "fusion.rrf.weights" not in shown  # a default that is no longer in force
    for key in ("store.tantivy.threads", "store.vectors.grace", "store.embeddings.limit_mb", "embed.onnx.threads"):
        assert shown[key][1] == "default"
    assert made.section("pipeline").pool == 2
    assert build("fusion", "rrf", made.of("fusion", "rrf")).k == 3


def test_only_the_nearest_project_file_counts(tmp_path: Path) -> None:
    settings_file(tmp_path, "[pipeline]\npool = 1\n")
    settings_file(tmp_path / "inner", "[fusion.rrf]\nk = 2\n")
    made = load(start=str(tmp_path / "inner"), environ={})
    assert made.section("pipeline").pool == 100
    assert made.of("fusion", "rrf") == {"k": 2}


def test_the_user_file_is_below_home_without_xdg(tmp_path: Path) -> None:
    settings_file(tmp_path / ".config" / "watersmeet", "[pipeline]\npool = 7\n")
    assert load(start="/", environ={"HOME": str(tmp_path)}).section("pipeline").pool == 7
    assert cache_folder({"HOME": "/h"}) == "/h/.cache/watersmeet"
    assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == "/c/watersmeet"


def test_a_recipe_can_be_chosen_in_a_file_or_by_flag(tmp_path: Path) -> None:
    assert "default" in recipes()
    settings_file(tmp_path, "recipe = 'default'\n")
    assert load(start=str(tmp_path), environ={}).recipe == "default"
    with pytest.raises(ConfigError, match="no recipe called 'x'"):
        load(start=str(tmp_path), environ={}, recipe="x")


@pytest.mark.parametrize("name", recipes())
def test_every_recipe_is_valid(name: str) -> None:
    made = load(recipe=name, start="/", environ={})
    check(made.tables, name)
    for key, (value, _) in effective(made).items():
        assert key
        assert value is not None


# ------------------------------------------------------------ environment


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("true", True),
        ("plain text", "plain text"),
        ('"7"', "7"),
        ('["a", "b"]', ["a", "b"]),
        ("{a = 1}", {"a": 1}),
        ("", ""),
        ("1\nb = 2", "1\nb = 2"),
    ],
)
def test_a_value_of_the_environment_is_toml_else_text(raw: str, value: Any) -> None:
    assert from_environ({"WATERSMEET__A__B": raw, "PATH": "x"}) == {"a": {"b": value}}


def test_a_list_of_tables_may_be_json() -> None:
    rules = '[{"pattern": "^E\\\\d+$", "mode": "exact"}, {"pattern": "x", "tags": ["a", true, 1.5]}]'
    assert from_environ({"WATERSMEET__A__B": rules}) == {"a": {"b": json.loads(rules)}}
    assert from_environ({"WATERSMEET__A__B": "[{no json"}) == {"a": {"b": "[{no json"}}


def test_the_environment_cannot_make_a_value_a_table() -> None:
    with pytest.raises(ConfigError, match="cannot be a table"):
        from_environ({"WATERSMEET__A": "1", "WATERSMEET__A__B": "2"})


# ------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("tables", "said", "hint"),
    [
        ({"fusoin": {}}, "origin: no setting called 'fusoin'", "'fusion'"),
        ({"fusion": {"rff": {}}}, "no fusion called 'rff'", "'rrf'"),
        ({"fusion": {"_x": {}}}, "no fusion called '_x'", "rrf"),
        ({"fusion": {"rrf": {"kk": 1}}}, "origin: [fusion.rrf] has no setting 'kk'", "'k'"),
        ({"fusion": {"rrf": {"k": "x"}}}, "origin: fusion.rrf.k must be a whole number, not 'x'", ""),
        ({"fusion": {"rrf": {"k": True}}}, "a whole number", ""),
        ({"fusion": {"rrf": {"k": 1.0}}}, "a whole number", ""),
        ({"fusion": {"rrf": {"weights": {"a": "x"}}}}, "origin: fusion.rrf.weights.a must be a number", ""),
        ({"pipeline": {"signals": ["lexical", 3]}}, "pipeline.signals[1] must be text", ""),
        ({"pipeline": {"signals": ["lexicl"]}}, "origin: pipeline.signals names 'lexicl'", "'lexical'"),
        ({"pipeline": {"fusion": "rff"}}, "pipeline.fusion names 'rff'", "'rrf'"),
        ({"index": {"text": "fts"}}, "index.text names 'fts'", "'fts5'"),
        (
            {"index": {"text": "vectors"}},
            "origin: index.text names 'vectors', which is no text store",
            "known: fts5, tantivy",
        ),
        ({"index": {"text": ""}}, "index.text names ''", "known: fts5, tantivy"),
        ({"index": {"dense": "onx"}}, "index.dense names 'onx'", "'onnx'"),
        (
            {"pipeline": {"fusion": "weighted_rrf"}},
            "names 'weighted_rrf', which is no fusion",
            "with weights under [fusion.rrf]",
        ),
        ({"fusion": {"weighted_rrf": {"k": 2}}}, "no fusion called 'weighted_rrf'", "with weights under [fusion.rrf]"),
        ({"pipeline": {"signals": ["semantic"]}}, "names 'semantic', which is no signal", '"dense"'),
        ({"index": {"dense": "sentence-transformers"}}, "no embedder", "did you mean 'sentence_transformers'"),
        ({"search": {"rerank_top_n": 5}}, "origin: no setting called 'search'", "top_n under [stage.crossencoder]"),
        ({"search": {"rerank_enabled": True, "semantic_weight": 2}}, "'search'", "for search.semantic_weight write"),
        ({"search": {"x": 1}}, "'search'", "see [pipeline]"),
        (
            {"retrieval": {"fusion": {"rrf_k": 60}}},
            "'retrieval'",
            "for retrieval.fusion.rrf_k write k under [fusion.rrf]",
        ),
        ({"retrieval": {"fusion": {"weights": {"dense": 1}}}}, "'retrieval'", "write weights under [fusion.rrf]"),
        ({"rrf_k": 60}, "no setting called 'rrf_k'", "write k under [fusion.rrf]"),
        ({"pipeline": {"hybrid_alpha": 0.7}}, "[pipeline] has no setting 'hybrid_alpha'", "weights = { dense = … }"),
        ({"stage": {"crossencoder": {"top_k": 5}}}, "has no setting 'top_k'", "'top_n'"),
        ({"chunking": {"max_chunk_chars": 900}}, "'chunking'", "max_chars under [chunk.headings]"),
        ({"fusion": 1}, "'fusion' is a table", "[fusion]"),
        ({"fusion": {"rrf": 1}}, "fusion.rrf is a table", "[fusion.rrf]"),
        ({"recipe": 3}, "recipe must be text", "default"),
    ],
)
def test_a_wrong_setting_is_named_with_what_to_write(tables: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        check(tables, "origin")
    assert said in str(error.value)
    assert hint in error.value.hint


def test_what_predecessors_names_lead_to_is_there() -> None:
    hints = [*former_names.SETTINGS.values(), *former_names.TABLES.values(), *former_names.COMPONENTS.values()]
    tables = {f"{kind}.{name}" for kind in KINDS for name in names(kind)} | set(SECTIONS)
    written = {found for hint in hints for found in re.findall(r"\[([a-z_.]+)\]", hint)}
    assert written
    assert written <= tables
    for setting, table in {
        found for hint in hints for found in re.findall(r"write (\w+)[^,;]* under \[([\w.]+)\]", hint)
    }:
        kind, _, name = table.partition(".")
        assert setting in options(find(kind, name) if name else SECTIONS[table])
    for (kind, old), hint in former_names.COMPONENTS.items():
        assert old not in names(kind)
        (chosen, *_) = re.findall(r'"(\w+)"', hint)
        assert any(chosen in names(other) for other in (kind, "stage"))
    for hint in hints:
        for chosen, where in re.findall(r'put "(\w+)" into pipeline\.(\w+)', hint):
            assert chosen in names(NAMED[f"pipeline.{where}"])


def test_what_a_store_cannot_work_with_is_said_of_all_files_together(tmp_path: Path, home: Path) -> None:
    user = settings_file(home / "config" / "watersmeet", "[store.tantivy]\nheap_bytes = 1\n")
    environ = {"XDG_CONFIG_HOME": str(home / "config")}
    with pytest.raises(ConfigError, match=r"store\.tantivy\.heap_bytes cannot be 1$") as error:
        load(start=str(tmp_path), environ=environ)
    assert user in str(error.value)
    assert "15000000" in error.value.hint
    load(start=str(tmp_path), environ=environ | {"WATERSMEET__STORE__TANTIVY__HEAP_BYTES": "60_000_000"})
    threads = {"WATERSMEET__STORE__TANTIVY__THREADS": "4"}
    with pytest.raises(ConfigError, match=r"environment: store\.tantivy\.heap_bytes") as error:
        load(start=str(tmp_path), environ=threads)  # the usual memory is too little for these
    assert "60000000" in error.value.hint
    settings_file(home / "config" / "watersmeet", "[store.tantivy]\nheap_bytes = 60_000_000\n")
    assert load(start=str(tmp_path), environ=environ | threads).of("store", "tantivy")["threads"] == 4
    for key, value in (("THREADS", "0"), ("HEAP_BYTES", "10_000_000_000")):
        with pytest.raises(ConfigError, match=f"store.tantivy.{key.lower()} cannot be"):
            load(start=str(tmp_path), environ={f"WATERSMEET__STORE__TANTIVY__{key}": value})


def test_what_may_be_empty_may_be_empty() -> None:
    check({"index": {"dense": "", "static": ""}, "pipeline": {"signals": []}, "recipe": "default"}, "origin")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "a = [")
    with pytest.raises(ConfigError, match="not valid TOML") as error:
        load(start=str(tmp_path), environ={})
    assert path in str(error.value)


# ------------------------------------------------------------ components and types


@pytest.mark.parametrize("kind", KINDS)
def test_every_component_can_be_found_and_says_what_its_settings_mean(kind: str) -> None:
    assert names(kind)
    for name in names(kind):
        cls = find(kind, name)
        assert cls.__name__.lower() == name.replace("_", "")
        for field in options(cls).values():
            assert field.metadata["meaning"]
            default(field)


def test_every_setting_that_names_a_component_exists() -> None:
    for path, kind in NAMED.items():
        section, _, setting = path.partition(".")
        assert setting in options(SECTIONS[section])
        assert kind in KINDS


def test_a_file_that_is_no_component_is_refused() -> None:
    with pytest.raises(UnknownComponent):
        find("stage", "nothing")
    with pytest.raises(UnknownComponent):
        find("store", "rename")  # a helper


def test_types() -> None:
    assert convert(float, 3, "x") == 3.0
    assert convert(tuple[str, ...], ["a"], "x") == ("a",)
    assert convert(int | None, None, "x") is None
    assert convert(int | None, 3, "x") == 3
    assert convert(dict[str, float], {"a": 1}, "x") == {"a": 1.0}
    assert convert(bool, 0, "x") is False  # as people write it in the environment
    assert convert(bool, 1, "x") is True
    for hint, value in ((bool, 2), (bool, "no"), (str, 1), (list[str], "a"), (dict[str, int], []), (float, True)):
        with pytest.raises(ConfigError, match="x must be"):
            convert(hint, value, "x")


@pytest.mark.slow
@given(Tables, Tables)
def test_merging_keeps_what_is_set_last(low: dict[str, Any], high: dict[str, Any]) -> None:
    merged = dict(leaves(merge(low, high)))
    for path, value in leaves(high):
        assert merged[path] == value
    assert set(merged) <= {path for path, _ in leaves(low)} | {path for path, _ in leaves(high)}
    assert merge(low, {}) == low
    assert merge({}, high) == high


# ------------------------------------------------------------ where the index is


def test_the_index_is_found_upwards(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert index_to_make(start=str(deep)) == str(deep / ".watersmeet")
    (tmp_path / ".watersmeet").mkdir()
    (tmp_path / ".watersmeet" / "catalogue.db").touch()
    assert os.path.samefile(find_index(start=str(deep)), tmp_path / ".watersmeet")
    assert os.path.samefile(index_to_make(start=str(deep)), tmp_path / ".watersmeet")
    assert find_index(str(tmp_path / ".watersmeet")) == str(tmp_path / ".watersmeet")


def test_the_index_of_a_folder_is_kept_by_its_real_path(tmp_path: Path, home: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    assert index_in(str(tmp_path / "link")) == index_in(str(tmp_path / "notes" / ".." / "notes"))
    assert index_in(str(tmp_path / "notes")).startswith(str(home / "cache" / "watersmeet" / "indexes" / "notes-"))
    assert index_in(str(tmp_path)) != index_in(str(tmp_path / "notes"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.y", "../x", "__init__", "lexical.foo"])
def test_a_signal_that_cannot_be_one_is_an_error_that_says_so(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nbackup")
    words = {"index": {"vectors": False}}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=words)) as engine:
        engine.sync([tmp_path / "a.md"])
    for table in (
        {"query": {"route": {"rules": [{"match": "backup", "only": [name]}]}}},
        {"fusion": {"convex": {"weights": {name: 1.0}}}},
    ):
        settings = load(start=str(tmp_path), environ={}, flags={**words, **table})
        with Engine(tmp_path / "index", settings) as engine, pytest.raises(UnknownComponent, match="no signal called"):
            engine.search("backup")


@pytest.mark.parametrize(
    ("table", "key"),
    [("writer", "compact_share"), ("writer", "grace_seconds"), ("index", "min_coverage"), ("store.vectors", "grace")],
)
def test_a_number_below_its_least_is_an_error_that_names_it(table: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "watersmeet.toml").write_text(f"[{table}]\n{key} = -1\n")
    with pytest.raises(ConfigError) as error:
        load(start=str(tmp_path / "other"), environ={}, config=str(tmp_path / "watersmeet.toml"))
    assert f"{table}.{key} cannot be -1" in str(error.value)
    assert error.value.hint == "use 0 or more"
