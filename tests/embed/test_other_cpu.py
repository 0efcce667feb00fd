"""The transformer on a processor without VNNI, which qemu-user plays: onnxruntime then takes other int8 kernels."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from watersmeet.embed.onnx import Onnx

pytestmark = pytest.mark.model

EMULATOR = shutil.which("qemu-x86_64")
QUERY = "why are my changes slow to arrive?"
TEXTS = (
    "Changes arrive, but only after half a minute? The reverse proxy does not pass on upgrades.",
    "Keys are rotated every quarter.",
)
SCRIPT = """
import sys, numpy
from watersmeet.embed.onnx import Onnx
numpy.save(sys.argv[1], [Onnx(threads=1).embed_query(text) for text in sys.argv[2:]])
"""


@pytest.mark.skipif(EMULATOR is None, reason="needs qemu-user, as `apt-get install qemu-user` brings it")
def test_another_processor_gives_the_same_vectors(tmp_path: Path) -> None:
    command = [
        EMULATOR or "",
        "-cpu",
        "Haswell",
        sys.executable,
        "-c",
        SCRIPT,
        str(tmp_path / "other.npy"),
        QUERY,
        *TEXTS,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    other = np.load(tmp_path / "other.npy")
    here = np.stack([Onnx().embed_query(text) for text in (QUERY, *TEXTS)])
    assert np.abs(here - other).max() < 1e-4, "weights of 7 bits: all kernels add the same integers"
    for vectors in (here, other):
        right, wrong = vectors[1:] @ vectors[0]
        assert right > wrong + 0.1
