"""Settings of predecessors: what each key becomes, and that the result can always be loaded."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import predecessors
from watersmeet.core.errors import ConfigError
from watersmeet.engine.migration import docmancer, gateway, indexfoundry, ragdocs
from watersmeet.engine.migration.conversion import Conversion
from watersmeet.engine.migration.settings_file import read_settings, to_toml
from watersmeet.engine.settings.effective import visible
from watersmeet.engine.settings.file import parse
from watersmeet.engine.settings.settings import leaves, load


def converted(folder: Path, name: str, text: str, program: str = "") -> tuple[Conversion, dict[str, Any]]:
    """The conversion of a file, and its settings, which load."""
    (folder / name).write_text(text, "utf8")
    made = read_settings(str(folder / name), program)
    written = folder / "watersmeet.toml"
    written.write_text(to_toml(made, name), "utf8")
    settings = load(config=str(written))
    assert settings.recipe == made.recipe
    found = dict(leaves(parse(written.read_text("utf8"), "")))
    assert {key: dict(leaves(settings.tables)).get(key, settings.recipe) for key in found} == found
    return made, found


def without(made: Conversion) -> set[str]:
    return {key.name for key in made.keys if key.lacking}


def test_docmancer(tmp_path: Path) -> None:
    made, found = converted(tmp_path, "docmancer.yaml", predecessors.DOCMANCER)
    assert found == {
        "recipe": "docs",
        "source.site.parallel": 2,
        "source.site.max_pages": 100,
        "parse.pdf.max_chars": 1200,
        "parse.pdf.overlap": 50,
        "fusion.rrf.k": 20,
        "fusion.rrf.weights.lexical": 2.0,
        "fusion.rrf.weights.dense": 1.0,
        "two_stage.auto_min_documents": 25,
        "two_stage.documents": 4,
        "query.route.rules": [{"match": "python|django", "filters": {"sdk": "python"}}],
    }
    assert without(made) == {"index.extracted_dir", "retrieval.routers[1].description"}
    assert made.commands == ["watersmeet import .docmancer/docmancer.db"]


@pytest.mark.parametrize("mode", ["lexical", "dense", "sparse"])
def test_a_mode_is_a_choice_of_signals(tmp_path: Path, mode: str) -> None:
    text = f"retrieval: {{default_mode: {mode}}}"
    assert converted(tmp_path, "docmancer.yaml", text)[1]["pipeline.signals"] == [mode]


def test_ragdocs(tmp_path: Path) -> None:
    made, found = converted(tmp_path, "config.toml", predecessors.RAGDOCS)
    assert found == {
        "recipe": "notes",
        "source.folder.recursive": False,
        "source.folder.exclude": ["**/drafts/**"],
        "source.folder.include": ["**/*.md", "**/*.txt"],
        "chunk.headings.max_chars": 2000,
        "fusion.rrf.weights.dense": 1.5,
        "fusion.rrf.k": 30,
        "pipeline.stages": ["recency", "per_document", "dedupe", "crossencoder", "unit", "top"],
        "pipeline.understand": ["tags", "route", "words", "classify"],
        "stage.crossencoder.top_n": 5,
    }
    assert without(made) == {"parsers.**/*.api"}
    assert [(one.address, one.collection) for one in made.sources] == [("docs", ""), ("/home/ann/notes", "notes")]
    assert made.commands == ["watersmeet sync docs", "watersmeet sync /home/ann/notes --collection notes"]


def test_gateway(tmp_path: Path) -> None:
    made, found = converted(tmp_path, ".env", predecessors.GATEWAY)
    assert found == {
        "recipe": "registry",
        "registry.records": "mongodb",
        "records.mongodb.database": "tools",
        "records.mongodb.namespace": "production",
        "records.mongodb.ef_search": 250,
        "pipeline.fusion": "legacy",
    }
    assert without(made) == {"AUTH_SERVER_URL"}
    string = (
        "mongodb://USERNAME:PASSWORD@cluster.example.org:27018/?tls=true&tlsCAFile=global-bundle.pem&retryWrites=false"
    )
    assert made.commands == [f"export MONGODB_URI='{string}'", "watersmeet pull"]
    assert "s3cret" not in json.dumps([key.shown for key in made.keys]) + to_toml(made, ".env")
    named = converted(tmp_path, "env", "STORAGE_BACKEND=mongodb-ce\nMONGODB_CONNECTION_STRING=mongodb://a:b@c/d\n")[1]
    assert named["records.mongodb.uri_env"] == "MONGODB_CONNECTION_STRING"  # the string itself stays where it is


def test_secrets_stay_out_of_files_and_reports(tmp_path: Path) -> None:
    env = """STORAGE_BACKEND=mongodb-ce
DOCUMENTDB_HOST=db';touch x;'
DOCUMENTDB_PASSWORD=s3cret
GRAFANA_PASS=s3cret
OTHER_URI=mongodb://ann:s3cret@db/
EMBEDDINGS_PROVIDER=litellm
EMBEDDINGS_MODEL_NAME=openai/bge
EMBEDDINGS_API_BASE=https://ann:s3cret@models.example.org/v1
"""
    gateway_made, found = converted(tmp_path, ".env", env)
    assert found["embed.openai.base_url"] == "https://models.example.org/v1"
    command = gateway_made.commands[0].removeprefix("export ")
    assert shlex.split(command) == ["MONGODB_URI=mongodb://db';touch x;':27017/"]  # one word, whatever the host is
    text = """vector_store: {url: "https://ann:s3cret@q:6333", api_key: s3cret}
surprise: [{token: s3cret, weight: .inf}]
"""
    made, _ = converted(tmp_path, "docmancer.yaml", text)
    said = [[key.shown, key.note] for one in (made, gateway_made) for key in one.keys]
    assert "s3cret" not in json.dumps([said, gateway_made.commands], allow_nan=False)
    assert "s3cret" not in to_toml(made, "docmancer.yaml") + to_toml(gateway_made, ".env")


def test_a_password_in_an_address_is_not_shown() -> None:
    url = "https://ann:s3cret@models.example.org/v1"
    assert visible("embed.openai.base_url", url) == "https://***@models.example.org/v1"


def test_a_number_that_no_settings_file_can_have_is_named(tmp_path: Path) -> None:
    made, found = converted(tmp_path, "docmancer.yaml", f"retrieval: {{fusion: {{rrf_k: {10**30}}}}}")
    assert (found, without(made)) == ({"recipe": "docs"}, {"retrieval.fusion.rrf_k"})


def test_indexfoundry(tmp_path: Path) -> None:
    predecessors.indexfoundry_project(tmp_path / "project", "docs", {})
    made = read_settings(str(tmp_path / "project"))
    assert dict(leaves(made.settings)) == {
        "recipe": "identifiers",
        "chunk.headings.max_chars": 1500,
        "chunk.headings.overlap": 150,
        "index.dense": "openai",
        "embed.openai.model": "text-embedding-3-large",
        "embed.openai.api_key_env": "MY_KEY",
    }
    assert made.commands == ["watersmeet sync docs --collection Guides --meta label_sea=yes --meta label_tide=yes"]


def test_wrong_values_and_unknown_keys_are_named(tmp_path: Path) -> None:
    text = "retrieval: {fusion: {rrf_k: many}, routers: [{match: '(', filters: {a: b}}], surprise: 1}\nnew: {key: 2}\n"
    made, found = converted(tmp_path, "docmancer.yaml", text)
    assert found == {"recipe": "docs"}
    assert without(made) == {"retrieval.fusion.rrf_k", "retrieval.routers", "retrieval.surprise", "new.key"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docmancer.yaml", "a: [unclosed"),
        ("docmancer.yaml", "other: {settings: 1}"),
        ("config.toml", "[search\n"),
        ("config.toml", "[pipeline]\npool = 3\n"),
        ("project.json", "[]"),
        (".env", "PATH=/bin\n"),
        ("notes.txt", "Nothing of the kind."),
        ("watersmeet.toml", "recipe = 'notes'\n"),
    ],
)
def test_what_is_no_file_of_a_predecessor_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf8")
    with pytest.raises(ConfigError) as refused:
        read_settings(str(tmp_path / name))
    assert refused.value.hint


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
MODULES = {"docmancer": docmancer, "ragdocs": ragdocs, "indexfoundry": indexfoundry}


@pytest.mark.parametrize("program", MODULES)
@given(data=st.data())
def test_whatever_is_in_a_file_the_result_loads(program: str, data: st.DataObject) -> None:
    """Every documented key with any value: an error of the value is said, and never written."""
    module: Any = MODULES[program]
    config: dict[str, Any] = {}
    for name in data.draw(st.lists(st.sampled_from(sorted(module.RULES)), max_size=6, unique=True)):
        *above, last = name.removesuffix(".*").split(".")
        table = config
        for part in above:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                break
        else:
            table[last] = data.draw(VALUES)
    made = module.convert(config)
    text = to_toml(made, "x")
    for path, value in leaves(made.tables):
        assert dict(leaves(parse(text, "")))[path] == value


@given(st.text(max_size=200))
def test_any_text_is_read_as_an_environment_file(text: str) -> None:
    variables = gateway.read_env(text)
    assert all(isinstance(value, str) for value in variables.values())
    to_toml(gateway.convert(variables), ".env")
