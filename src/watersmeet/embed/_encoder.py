"""Sentence encoder loaded from a folder: its tokenizer, its graph and its pooling."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watersmeet.common.encodable import clean
from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.embed._common import unreadable
from watersmeet.embed._mapped_graph import mapped_graph
from watersmeet.embed._one_text import TextTokenizer
from watersmeet.embed._token_table import open_table

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix

_GRAPHS = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
_FED = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
_SHIFTED = {"roberta", "xlm-roberta", "camembert", "mpnet"}  # positions start after the padding id
_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_HINT = "download the model's files again, or name another folder"
_loading = threading.Lock()
_loaded: dict[tuple[object, ...], Encoder] = {}


@dataclass(frozen=True, slots=True)
class Encoder:
    path: Path
    tokenizer: TextTokenizer
    session: Any  # onnxruntime.InferenceSession: compiled, without types
    kinds: dict[str, Any]  # inputs of the graph with their integer types
    output: str
    pooling: str
    padding: int
    dimension: int = 0

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) == 1:
            return [self.tokenizer.ids(clean(texts[0]))]
        return self.tokenizer.ids_of_each([clean(text) for text in texts])

    def run(self, batch: Sequence[Sequence[int]]) -> Matrix:
        """One pass of the graph over tokenized texts; the vectors are not normalised."""
        import numpy as np

        longest = max(len(ids) for ids in batch)
        ids = np.full((len(batch), longest), self.padding, dtype=np.int64)
        mask = np.zeros_like(ids)
        for number, one in enumerate(batch):
            ids[number, : len(one)] = one
            mask[number, : len(one)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self.kinds:
            inputs["token_type_ids"] = np.zeros_like(ids)
        if "position_ids" in self.kinds:
            inputs["position_ids"] = np.broadcast_to(np.arange(longest), ids.shape)
        feed = {name: np.ascontiguousarray(inputs[name], dtype=kind) for name, kind in self.kinds.items()}
        try:
            (result,) = self.session.run([self.output], feed)
        except engine_errors() as error:
            raise ModelProblem(f"{self.path} failed: {_first_line(error)}", _HINT) from error
        return self._pooled(result, mask)

    def _pooled(self, result: Any, mask: Any) -> Matrix:
        import numpy as np

        if result.ndim == 2:
            return np.asarray(result, dtype=np.float32)
        if result.ndim != 3:
            raise ModelProblem(f"{self.path}: {self.output} has {result.ndim} dimensions, not 2 or 3", _HINT)
        if self.pooling == "max":  # padding does not count
            return np.asarray(np.where(mask[:, :, None] > 0, result, -np.inf).max(axis=1), dtype=np.float32)
        if self.pooling == "cls":
            return np.asarray(result[:, 0], dtype=np.float32)
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((result * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1), dtype=np.float32)


def graph_file(folder: Path, file: str) -> Path:
    """The graph file of a model folder."""
    names = (file,) if file else _GRAPHS
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ModelMissing(f"{folder} has no {names[0]}", "export the model to ONNX, or name its file")


def encoder(folder: Path, file: str, max_tokens: int, pooling: str) -> Encoder:
    """Encoder of a folder, cached until its files change."""
    graph = graph_file(folder, file)
    key = (graph, max_tokens, pooling, stamp(graph), stamp(folder / "tokenizer.json"))
    with _loading:
        if key not in _loaded:
            for old in [old for old in _loaded if old[:3] == key[:3]]:
                del _loaded[old]
            _loaded[key] = _load(folder, graph, max_tokens, pooling)
        return _loaded[key]


def stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return found.st_mtime_ns, found.st_size


def replaces(path: Path) -> frozenset[str]:
    """Fingerprints listed in a `replaces.json`; empty if there is none."""
    found = _json(path)
    if found is None:
        return frozenset()
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ModelProblem(f"{path} is not a list of fingerprints", _HINT)
    return frozenset(found)


def continued(path: Path, fingerprint: str) -> str:
    """The fingerprint under which files of this one are known: `continues.json` has it, if only the form of the graph
    changed, so that new vectors may stand beside earlier ones."""
    found = _config(path).get(fingerprint, fingerprint)
    if not isinstance(found, str):
        raise ModelProblem(f"{path} does not name a fingerprint", _HINT)
    return found


def tokenizer_of(folder: Path, max_tokens: int) -> Any:
    """Tokenizer of a folder, without loading the graph."""
    return _tokenizer_of(folder, stamp(folder / "tokenizer.json"), max_tokens)


@functools.lru_cache(maxsize=4)
def _tokenizer_of(folder: Path, _: tuple[int, int], max_tokens: int) -> Any:
    return _tokenizer(folder, _config(folder / "config.json"), max_tokens)


def _load(folder: Path, graph: Path, max_tokens: int, pooling: str) -> Encoder:
    config = _config(folder / "config.json")
    tokenizer = _text_tokenizer(folder, config, max_tokens)
    session = session_of(graph)
    inputs = {one.name: one.type for one in session.get_inputs()}
    strange = sorted(set(inputs) - _FED)
    if strange or "input_ids" not in inputs:
        wrong = f"has the inputs {', '.join(strange)}" if strange else "has no input input_ids"
        raise ModelProblem(f"{graph} is not a sentence encoder: it {wrong}", _HINT)
    outputs = [one.name for one in session.get_outputs()]
    model = Encoder(
        path=graph,
        tokenizer=tokenizer,
        session=session,
        kinds={name: "int32" if "int32" in kind else "int64" for name, kind in inputs.items()},
        output="sentence_embedding" if "sentence_embedding" in outputs else outputs[0],
        pooling=pooling or stated_pooling(folder),
        padding=int(config.get("pad_token_id") or 0),
    )
    return replace(model, dimension=model.run([[model.padding]]).shape[1])


def session_of(graph: Path | bytes) -> Any:
    """An onnxruntime session of a graph's file, with its weights mapped, or of its content."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before the import, which would store a device id
    import onnxruntime  # type: ignore[import-untyped] # it has no types

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # texts run in parallel instead: as fast, and no thread spins
    options.inter_op_num_threads = 1
    source = graph if isinstance(graph, bytes) else mapped_graph(graph) or str(graph)
    if isinstance(graph, Path):
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(graph.resolve().parent))
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except engine_errors() as error:
        name = "the graph" if isinstance(graph, bytes) else graph
        raise ModelProblem(f"cannot load {name}: {_first_line(error)}", _HINT) from error


def _text_tokenizer(folder: Path, config: dict[str, Any], max_tokens: int) -> TextTokenizer:
    made = TextTokenizer(partial(_whole, folder), partial(_limited, folder, config, max_tokens), open_table(folder))
    if made.table is None:
        made.whole()
    return made


def _tokenizer(folder: Path, config: dict[str, Any], max_tokens: int) -> Any:
    return _limited(folder, config, max_tokens, _whole(folder))


def _whole(folder: Path) -> Any:
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    try:
        return Tokenizer.from_buffer(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise ModelProblem(f"cannot load {path}: {_first_line(error)}", _HINT) from error


def _limited(folder: Path, config: dict[str, Any], max_tokens: int, tokenizer: Any) -> Any:
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens or _longest(folder, config))
    return tokenizer


def _longest(folder: Path, config: dict[str, Any]) -> int:
    """Maximum number of tokens of the model, including special ones."""
    positions = int(config.get("max_position_embeddings") or 512)
    if config.get("model_type") in _SHIFTED:
        positions -= int(config.get("pad_token_id") or 0) + 1
    stated = [
        _config(folder / "sentence_bert_config.json").get("max_seq_length"),
        _config(folder / "tokenizer_config.json").get("model_max_length"),
    ]
    return max(1, min([positions, *(int(one) for one in stated if one)]))


def stated_pooling(folder: Path) -> str:
    """Pooling that a model's configuration states; mean if it states none."""
    path = folder / "1_Pooling" / "config.json"
    config = _config(path)
    stated = config.get("pooling_mode")
    if stated in ("cls", "mean"):
        return str(stated)
    modes = [name for name, value in config.items() if name.startswith("pooling_mode_") and value is True]
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    if modes == ["pooling_mode_mean_tokens"] or (not modes and not stated):
        return "mean"
    raise ModelProblem(f"{path} requires {stated or ' and '.join(modes)}", "only cls and mean pooling are supported")


def _config(path: Path) -> dict[str, Any]:
    """JSON object of a configuration file; empty if there is no file."""
    config = _json(path)
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise ModelProblem(f"{path} is not a JSON object", _HINT)
    return config


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise ModelProblem(f"cannot read {path}: {error}", _HINT) from error


@functools.cache
def engine_errors() -> tuple[type[Exception], ...]:
    """onnxruntime's exceptions have no common base."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # type: ignore[import-untyped] # as above

    found = [one for one in vars(state).values() if isinstance(one, type) and issubclass(one, Exception)]
    return (*found, RuntimeError, ValueError)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:300]
