"""The shipped encoder: as near to float32 as was measured, and the same integers on every processor."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from watersmeet.embed.onnx import Onnx

pytestmark = pytest.mark.model

SHIPPED = Path(__file__).parents[2] / "models" / "granite-30m" / "src" / "watersmeet_granite_30m"
CONTINUED = "b44052fac86b6c9c8354105d"
REFERENCE = Path(__file__).parent / "granite_float32.npz"


@pytest.fixture(scope="module")
def cosines() -> np.ndarray:
    with np.load(REFERENCE) as kept:
        texts, wanted = kept["texts"].tolist(), kept["vectors"].astype(np.float32)
    assert len(texts) == 100
    return (Onnx(model=str(SHIPPED)).embed(texts) * wanted).sum(axis=1)


@pytest.mark.skipif("WATERSMEET_TEST_PERTURB" in os.environ, reason="it measures the model, not a model with noise")
def test_its_vectors_are_those_of_float32(cosines: np.ndarray) -> None:
    """Plain dynamic quantisation of the same weights gives .92 to .97 on these texts."""
    assert cosines.min() > 0.99
    assert cosines.mean() > 0.995


@pytest.mark.skipif("WATERSMEET_TEST_PERTURB" in os.environ, reason="it measures the model, not a model with noise")
def test_both_graphs_read_the_same_weights() -> None:
    """`model.onnx` is the quick form of the graph in `model.onnx_data`, whose vectors an index may still hold."""
    texts = ["how do I log on?", "Rotate the keys of a server every quarter, then restart it. " * 8]
    quick, plain = (Onnx(model=str(SHIPPED), file=file) for file in ("", "model.onnx_data"))
    assert (quick.embed(texts) * plain.embed(texts)).sum(axis=1).min() > 0.995
    assert quick.fingerprint == CONTINUED, "vectors of before stay, new ones stand beside them"


def test_padding_changes_no_vector_but_by_rounding() -> None:
    """Attention has one form without a mask and one with it."""
    model = Onnx(model=str(SHIPPED))._encoder()
    short, long = model.tokens(["how do I log on?", "Rotate the keys of a server every quarter, then restart it."])
    alone, (beside, _) = model.run([short])[0], model.run([short, long])
    assert alone @ beside > 0.98, "a batch shares the scale of its activations; without a mask it is .77"


def test_no_kernel_can_saturate() -> None:
    """Weights of 7 bits: 255 x 64 x 2 fits into the 16 bits in which a kernel without VNNI adds pairs."""
    content = (SHIPPED / "model.onnx_data").read_bytes()
    start = content.index(b"l0.f1.w_quantized")  # the input's name in a node, then the tensor's own
    tensors = 0
    while (start := content.find(b".w_quantized", start + 1)) >= 0:
        raw = content[start + len(b".w_quantized") :]
        if raw[:1] != b"J":  # field 9 of a TensorProto: its raw bytes
            continue
        size, length = _varint(raw, 1)
        codes = np.frombuffer(raw[1 + length : 1 + length + size], np.int8)
        assert np.abs(codes.astype(int)).max() <= 64
        tensors += 1
    assert tensors == 36


def _varint(data: bytes, start: int) -> tuple[int, int]:
    value = length = 0
    while True:
        byte = data[start + length]
        value |= (byte & 127) << (7 * length)
        length += 1
        if byte < 128:
            return value, length
