"""Cross-encoder: scores pairs of query and text. Any ONNX cross-encoder in a folder with its tokenizer.

Not an embedder: it reads both texts together, so nothing can be stored in an index. Each pair is a pass of its own,
several in parallel, for the reason given in `onnx`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watersmeet.common.encodable import clean
from watersmeet.core.errors import ModelProblem
from watersmeet.core.options import option
from watersmeet.embed._encoder import (
    _HINT,
    _config,
    _first_line,
    _tokenizer,
    engine_errors,
    graph_file,
    session_of,
    stamp,
)
from watersmeet.embed._locate import locate

_FED = {"input_ids", "attention_mask", "token_type_ids"}
_loading = threading.Lock()
_loaded: dict[tuple[object, ...], _Reader] = {}


@dataclass(frozen=True, slots=True)
class Crossencoder:
    """Scores pairs of query and text; the model is loaded at first use, once per process."""

    model: str  # a folder, an installed data package or an owner/model of the hub: the stage names it
    file: str = option("", "the graph's file in the folder; empty: model.onnx, or what usually stands in its place")
    max_tokens: int = option(0, "cut query and text together after so many tokens; 0: what the model can take")
    threads: int = option(2, "how many pairs are read at the same time")
    download: bool = option(True, "fetch an owner/model from the hub when it is not on this machine")

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score of each text: higher is better. Only the order is meaningful."""
        if not texts:
            return []
        reader = self._reader()
        with ThreadPoolExecutor(max(1, min(self.threads, len(texts))), "pairs") as pool:
            return list(pool.map(lambda text: reader.read(query, text), texts))

    def _reader(self) -> _Reader:
        folder = locate(self.model, self.file, self.download)
        graph = graph_file(folder, self.file)
        key = (graph, self.max_tokens, stamp(graph), stamp(folder / "tokenizer.json"))
        with _loading:
            if key not in _loaded:
                _loaded[key] = _load(folder, graph, self.max_tokens)
            return _loaded[key]


@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    tokenizer: Any  # tokenizers.Tokenizer and onnxruntime.InferenceSession: compiled, without types
    session: Any
    kinds: dict[str, str]  # inputs of the graph with their integer types
    output: str

    def read(self, query: str, text: str) -> float:
        import numpy as np

        pair = self.tokenizer.encode(clean(query), clean(text))
        inputs = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        feed = {name: np.array([inputs[name]], dtype=kind) for name, kind in self.kinds.items()}
        try:
            (result,) = self.session.run([self.output], feed)
        except engine_errors() as error:
            raise ModelProblem(f"{self.path} failed: {_first_line(error)}", _HINT) from error
        numbers = np.asarray(result, dtype=np.float64).ravel()
        if numbers.size not in (1, 2) or not np.isfinite(numbers).all():
            raise ModelProblem(f"{self.path} gave {numbers.size} numbers for a pair, not one score", _HINT)
        return float(numbers[-1] - (numbers[0] if numbers.size == 2 else 0.0))  # two: the odds of yes against no


def _load(folder: Path, graph: Path, max_tokens: int) -> _Reader:
    tokenizer = _tokenizer(folder, _config(folder / "config.json"), max_tokens)
    limit = tokenizer.truncation["max_length"]
    tokenizer.enable_truncation(limit, strategy="longest_first")  # a long text must not push the query out
    session = session_of(graph)
    inputs = {one.name: one.type for one in session.get_inputs()}
    strange = sorted(set(inputs) - _FED)
    if strange or "input_ids" not in inputs:
        wrong = f"has the inputs {', '.join(strange)}" if strange else "has no input input_ids"
        raise ModelProblem(f"{graph} is not a cross-encoder: it {wrong}", _HINT)
    outputs = [one.name for one in session.get_outputs()]
    return _Reader(
        path=graph,
        tokenizer=tokenizer,
        session=session,
        kinds={name: "int32" if "int32" in kind else "int64" for name, kind in inputs.items()},
        output="logits" if "logits" in outputs else outputs[0],
    )
