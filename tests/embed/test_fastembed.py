"""FastEmbed with real weights: the granite folder, compared with our own run of the same graph."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.core.vectors import Embedder
from watersmeet.embed._locate import locate
from watersmeet.embed.fastembed import FastEmbed
from watersmeet.embed.onnx import Onnx
from watersmeet.testing.contracts.embedder import TEXTS, EmbedderContract

needed = pytest.mark.skipif(find_spec("fastembed") is None, reason="NOT RUN: fastembed is not installed (see .ci/run)")


def granite() -> str:
    return str(locate("granite-30m", "", download=False))


@needed
@pytest.mark.model
@pytest.mark.usefixtures("offline")
class TestFolder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return FastEmbed(granite())

    def test_the_vectors_are_those_of_the_graph(self, embedder: Embedder) -> None:
        ours = Onnx().embed(TEXTS)
        assert (embedder.embed(TEXTS) * ours).sum(axis=1).min() > 0.999


@needed
def test_pooling_is_as_the_folder_says(make: Any, rows: dict[str, np.ndarray]) -> None:
    tokens = [rows[word] for word in ("[CLS]", "red", "[SEP]")]
    for stated, expected in (("cls", tokens[0]), ("mean", np.mean(tokens, axis=0))):
        folder = make(stated, pooling={"pooling_mode": stated})
        (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64, "pad_token": "[PAD]"}))
        found = FastEmbed(str(folder)).embed(["red"])[0]
        assert found == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


@needed
@pytest.mark.usefixtures("offline")
def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def problem(**options: Any) -> ModelProblem:
        with pytest.raises(ModelProblem) as caught:
            FastEmbed(**options).embed(["a"])
        assert caught.value.hint
        return caught.value

    assert "model is not set" in str(problem())
    assert "no model folder" in str(problem(model=str(tmp_path / "none")))
    assert "has no model.onnx" in str(problem(model=str(tmp_path)))
    assert "bge-small-en-v1.5" in problem(model="BAAI/bge-small-en-v15").hint
    named = {"model": "BAAI/bge-small-en-v1.5", "cache": str(tmp_path / "cache")}
    assert "download = true" in problem(**named, download=False).hint
    shutil.copytree(granite(), tmp_path / "broken")
    (tmp_path / "broken" / "tokenizer_config.json").unlink()
    assert "tokenizer_config.json" in str(problem(model=str(tmp_path / "broken")))
    (tmp_path / "broken" / "model.onnx").write_bytes(b"nothing")
    (tmp_path / "broken" / "tokenizer_config.json").write_text('{"model_max_length": 512, "pad_token": "[PAD]"}')
    assert "cannot be used" in str(problem(model=str(tmp_path / "broken"), pooling="none"))
    with pytest.raises(ConfigError, match="pooling cannot be"):
        FastEmbed(granite(), pooling="max")


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(ModelMissing, match="fastembed is not installed") as caught:
        FastEmbed("BAAI/bge-small-en-v1.5", threads=3).embed(["a"])
    assert "watersmeet[fastembed]" in caught.value.hint


def test_fingerprints_tell_models_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.onnx").write_text(name)
    models = [FastEmbed(str(tmp_path / "a")), FastEmbed(str(tmp_path / "b")), FastEmbed("x/a"), FastEmbed("x/b")]
    assert len({one.fingerprint for one in models}) == 4
    assert FastEmbed("x/a", threads=2, download=False).fingerprint == models[2].fingerprint
