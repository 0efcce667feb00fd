"""The contract of an embedder, passed by ours."""

from __future__ import annotations

import pytest

from watersmeet.core.vectors import Embedder
from watersmeet.embed.hashed import Hashed
from watersmeet.embed.onnx import Onnx
from watersmeet.embed.static import Static
from watersmeet.testing.contracts.embedder import EmbedderContract


class TestHashed(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return Hashed()


class TestStatic(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return Static()


@pytest.mark.model
class TestOnnx(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return Onnx()
