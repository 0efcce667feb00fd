"""Settings of an export: how to search comes along; secrets, paths, addresses and models do not, on either side."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from watersmeet.core.index import Tier
from watersmeet.engine.export.settings import export_settings, load_export_settings, portable_tiers
from watersmeet.engine.index.tiers import model_of
from watersmeet.engine.settings.settings import FILE, Settings, load

OPENAI = "base_url"


def settings(tmp_path: Path, **tables: Any) -> Settings:
    return load(start=str(tmp_path), environ={}, flags=tables)


def test_scoring_comes_along_and_the_rest_does_not(tmp_path: Path) -> None:
    made = settings(
        tmp_path,
        fusion={"convex": {"peak": 0.1, "weights": {"dense": 0.2}}},
        pipeline={"pool": 50},
        embed={"openai": {OPENAI: "https://models.example.org/v1"}},
        store={"tantivy": {"threads": 1}},
        serve={"rate": 5.0},
        registry={"pinned": ["x"]},
        stage={"crossencoder": {"model": "/models/mine"}},
    )
    text, left = export_settings(made, ["static"])
    found = tomllib.loads(text)
    assert found == {
        "recipe": "default",
        "pipeline": {"pool": 50, "query_classification": True},
        "index": {"sparse": "", "dense": ""},
        "fusion": {"convex": {"peak": 0.1, "weights": {"dense": 0.2}}},
    }
    assert left == ["registry.pinned", "stage.crossencoder.model"]
    assert not any(secret in text for secret in ("example.org", "MY_SECRET", "/models"))


def test_the_same_settings_come_out_of_it(tmp_path: Path) -> None:
    made = settings(tmp_path, fusion={"rrf": {"k": 7}}, pipeline={"fusion": "rrf", "query_classification": False})
    (tmp_path / FILE).write_text(export_settings(made, ["static", "sparse", "dense"])[0], "utf8")
    read = load_export_settings(str(tmp_path), environ={})
    assert read.tables == {**made.tables, "recipe": "default"}
    assert read.section("pipeline").query_classification is False


def test_a_strangers_file_sets_nothing_that_reaches_out(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(
        f'[embed.openai]\n{OPENAI} = "http://evil.example"\n[index]\ndense = "openai"\nstore = "x"\n'
        '[serve]\nexport_folder = "/"\n[ask]\nbudget = 5\n[pipeline]\npool = 7\n',
        "utf8",
    )
    read = load_export_settings(str(tmp_path), environ={})
    assert read.section("pipeline").pool == 7
    assert (read.section("index").dense, read.section("serve").export_folder) == ("onnx", "")
    assert read.section("ask").budget == 2000
    assert read.of("embed", "openai") == {}
    assert set(read.ignored[0].values) == {
        f"embed.openai.{OPENAI}",
        "index.dense",
        "index.store",
        "serve.export_folder",
        "ask.budget",
    }


def test_of_the_users_file_only_limits_and_chat_hold_and_the_environment_wins(tmp_path: Path) -> None:
    user = tmp_path / "config" / "watersmeet"
    user.mkdir(parents=True)
    (user / FILE).write_text("[pipeline]\npool = 9\n[serve]\nworkers = 2\n[ask]\nquotes = 1\n", "utf8")
    (tmp_path / FILE).write_text('recipe = "default"\n', "utf8")
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "WATERSMEET__PIPELINE__QUERY_CLASSIFICATION": "false"}
    read = load_export_settings(str(tmp_path), environ=environ)
    assert (read.section("pipeline").pool, read.section("serve").workers, read.section("ask").quotes) == (100, 2, 1)
    assert read.section("pipeline").query_classification is False


def test_vectors_of_models_that_others_lack_stay_behind(tmp_path: Path) -> None:
    plain = settings(tmp_path)
    tier = Tier("static", "potion", model_of(plain, "static", "static").fingerprint, 256, "x")
    assert portable_tiers(plain, {"static": tier}) == (["static"], [])
    assert portable_tiers(plain, {"static": replace(tier, fingerprint="another")}) == ([], ["static"])
    assert portable_tiers(settings(tmp_path, index={"static": "hashed"}), {"static": tier}) == ([], ["static"])
