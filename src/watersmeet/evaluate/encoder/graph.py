"""The graph of granite-30m: its lower layers as a model of their own, and the weights of its upper layers.

`scripts/granite.py` writes the graph. A product has 7-bit weights with a scale for each output, and a small float32
product for the few input channels with giant values. Upper layers are read as float32 and written back in this form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ModelProblem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Weights = dict[str, NDArray[np.float32]]

LAYERS, HEADS, EPSILON = 6, 12, 1e-12
UPPER = (4, 5)
"""The layers that are tuned."""
PRODUCTS = ("q", "k", "v", "ao", "f1", "f2")
NORMS = ("aln", "fln")
_SCALES = {"LayerNormalization": 1, "SkipLayerNormalization": 2}
"""Normalisations: which input has the weights; the next one has the bias. The second kind adds two states before."""
STEPS = 64
"""The largest integer of a 7-bit weight."""
STATE = "lower_state"
"""Output of the lower layers."""


@dataclass(frozen=True, slots=True)
class _Product:
    """Where the weights of one product are: names of constants."""

    codes: str
    scales: str
    bias: str
    giant: str = ""
    channels: str = ""


@dataclass(slots=True)
class Graph:
    """A graph file in memory. Weights have the names of `scripts/granite.py`: l4.q.w, l4.q.b, l4.aln.w."""

    path: Path
    model: Any = None  # onnx.ModelProto: generated code without types
    constants: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # it has no types

        try:
            self.model = onnx.load(str(self.path))
        except (OSError, DecodeError) as error:
            raise ModelProblem(f"cannot read {self.path}: {error}", "install the model again") from error
        self.constants = {one.name: one for one in self.model.graph.initializer}
        try:
            self._products()
            self._norms()
        except (KeyError, IndexError, StopIteration):
            raise ModelProblem(
                f"{self.path} cannot be tuned: it has another form than granite-30m",
                "tune with the model granite-30m, which is the default",
            ) from None

    def lower(self) -> bytes:
        """The lower layers as a graph of their own; its output is the state of every token."""
        import onnx

        last = self._layer_norms()[2 * UPPER[0]]
        nodes = list(self.model.graph.node)
        nodes = nodes[: nodes.index(last) + 1]  # a graph has its nodes in order
        used = {name for node in nodes for name in node.input}
        part = onnx.ModelProto()
        part.CopyFrom(self.model)
        del part.graph.node[:], part.graph.initializer[:]
        part.graph.node.extend([*nodes, onnx.helper.make_node("Identity", [last.output[0]], [STATE])])
        part.graph.initializer.extend(one for name, one in self.constants.items() if name in used)
        del part.graph.output[:]
        part.graph.output.append(
            onnx.helper.make_tensor_value_info(STATE, onnx.TensorProto.FLOAT, ["batch", "seq", "width"])
        )
        content: bytes = part.SerializeToString()
        return content

    def weights(self) -> Weights:
        """Weights of the upper layers as float32; a matrix has a row for each output."""
        found: Weights = {}
        for name, product in self._products().items():
            matrix = self._value(product.codes).astype("float32") * self._value(product.scales)
            if product.giant:
                matrix[self._value(product.channels)] = self._value(product.giant)
            found[f"{name}.w"] = matrix.T.copy()
            found[f"{name}.b"] = self._value(product.bias).copy()
        for name, (weight, bias) in self._norms().items():
            found[f"{name}.w"], found[f"{name}.b"] = self._value(weight).copy(), self._value(bias).copy()
        return found

    def write(self, weights: Weights, path: Path) -> None:
        """Write the graph with other weights in its upper layers."""
        import numpy as np
        import onnx

        for name, product in self._products().items():
            matrix = np.array(weights[f"{name}.w"].T, dtype=np.float32)
            if product.giant:
                channels = self._value(product.channels)
                self._set(product.giant, matrix[channels])
                matrix[channels] = 0
            scales = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / STEPS
            self._set(product.codes, np.clip(np.round(matrix / scales), -STEPS, STEPS).astype(np.int8))
            self._set(product.scales, scales.astype(np.float32))
            self._set(product.bias, weights[f"{name}.b"])
        for name, (weight, bias) in self._norms().items():
            self._set(weight, weights[f"{name}.w"])
            self._set(bias, weights[f"{name}.b"])
        onnx.save(self.model, str(path))

    def _value(self, name: str) -> Any:
        from onnx import numpy_helper

        return numpy_helper.to_array(self.constants[name])

    def _set(self, name: str, value: Any) -> None:
        from onnx import numpy_helper

        self.constants[name].CopyFrom(numpy_helper.from_array(value, name))

    def _layer_norms(self) -> list[Any]:
        return [node for node in self.model.graph.node if node.op_type in _SCALES]

    def _norms(self) -> dict[str, tuple[str, str]]:
        """Constants of the normalisations; the first one of the graph belongs to the embeddings."""
        norms = self._layer_norms()[1 + 2 * UPPER[0] :]
        names = [f"l{layer}.{norm}" for layer in UPPER for norm in NORMS]
        places = [_SCALES[node.op_type] for node in norms]
        return {
            name: (node.input[place], node.input[place + 1])
            for name, node, place in zip(names, norms, places, strict=True)
        }

    def _products(self) -> dict[str, _Product]:
        nodes = {node.name: node for node in self.model.graph.node}
        readers: dict[str, list[Any]] = {}
        for node in self.model.graph.node:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        found = {}
        for name in (f"l{layer}.{product}" for layer in UPPER for product in PRODUCTS):
            codes = next(
                one for one in nodes[f"{name}_quant"].input if one.endswith("_quantized") and one in self.constants
            )
            giant = nodes.get(f"{name}.out")
            found[name] = _Product(
                codes,
                codes.removesuffix("_quantized") + "_scale",
                self._bias(nodes[f"{name}_quant"], readers),
                giant.input[1] if giant else "",
                next(node.input[1] for node in self.model.graph.node if giant.input[0] in node.output) if giant else "",
            )
        return found

    def _bias(self, node: Any, readers: dict[str, list[Any]]) -> str:
        """The first constant that is added after a product."""
        while True:
            (node,) = readers[node.output[0]]
            constant = [name for name in node.input if name in self.constants]
            if node.op_type == "Add" and constant:
                return str(constant[0])
