"""The upper layers of the shipped graph are read, computed and written back as the graph computes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import watersmeet_granite_30m

from watersmeet.core.errors import ModelProblem
from watersmeet.embed._encoder import encoder, session_of

onnx = pytest.importorskip("onnx", reason="NOT RUN: onnx is not installed (extra train)")

from watersmeet.evaluate.encoder.graph import STATE, STEPS, Graph  # noqa: E402 - needs onnx

pytestmark = pytest.mark.model

MODEL = Path(watersmeet_granite_30m.PATH)
TEXTS = ("how do I log on?", "Rotate the keys of a server every quarter, then restart it. " * 8)


def test_the_layers_compute_what_the_graph_computes() -> None:
    torch = pytest.importorskip("torch", reason="NOT RUN: torch is not installed (extra train)")
    from watersmeet.evaluate.encoder.upper import parameters, vectors

    graph, whole = Graph(MODEL / "model.onnx"), encoder(MODEL, "", 0, "")
    lower, found = session_of(graph.lower()), parameters(graph.weights())
    for text in TEXTS:
        ids = np.array(whole.tokens([text]), dtype=np.int64)
        (state,) = lower.run([STATE], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        with torch.no_grad():
            ours = vectors(found, torch.from_numpy(state), torch.ones(ids.shape, dtype=torch.bool)).numpy()[0]
        assert float(ours @ whole.run(ids.tolist())[0]) > 0.99  # the graph rounds its activations to 8 bits


def test_weights_are_written_back_in_seven_bits(tmp_path: Path) -> None:
    graph = Graph(MODEL / "model.onnx")
    weights = graph.weights()
    assert len(weights) == 2 * (6 + 2) * 2
    graph.write(weights, tmp_path / "same.onnx")
    again = Graph(tmp_path / "same.onnx").weights()
    assert all(np.allclose(again[name], weights[name], atol=1e-7) for name in weights)
    changed = {name: value * np.float32(1.5) for name, value in weights.items()}
    graph.write(changed, tmp_path / "changed.onnx")
    other = Graph(tmp_path / "changed.onnx")
    for name, value in other.weights().items():
        step = np.abs(changed[name]).max() / STEPS
        assert np.abs(value - changed[name]).max() <= step
    codes = [one for one in other.constants if one.startswith("l5.") and one.endswith("_quantized")]
    assert len(codes) == 6
    assert max(int(np.abs(onnx.numpy_helper.to_array(other.constants[one])).max()) for one in codes) == STEPS


def test_another_graph_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no graph at all")
    with pytest.raises(ModelProblem, match="cannot read"):
        Graph(tmp_path / "model.onnx")
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [value], [out])), tmp_path / "model.onnx")
    with pytest.raises(ModelProblem, match="another form than granite-30m"):
        Graph(tmp_path / "model.onnx")
