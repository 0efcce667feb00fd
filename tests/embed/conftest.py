"""Tiny sentence encoders, written byte by byte: the ONNX format needs no library to be written."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "round", "square"]
KINDS = {"float32": 1, "int32": 6, "int64": 7}


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def block(tag: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(tag << 3 | 2) + varint(len(content)) + content


def value(name: str, kind: str, shape: list[int | str]) -> bytes:
    dims = b"".join(block(1, number(1, d) if isinstance(d, int) else block(2, d)) for d in shape)
    return block(1, name) + block(2, block(1, number(1, KINDS[kind]) + block(2, dims)))


def node(kind: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    return block(1, b"".join(block(1, one) for one in inputs) + block(2, output) + block(4, kind) + attributes)


def axes(places: list[int]) -> bytes:
    return block(5, block(1, "axes") + b"".join(number(8, place) for place in places) + number(20, 7))


def graph(table: np.ndarray, inputs: dict[str, str], reduced: list[int] | None) -> bytes:
    """Looks every token up in a table; `reduced` axes are averaged away, so [1] gives a pooled output."""
    width = table.shape[1]
    nodes = node("Gather", ["table", "input_ids"], "tokens")
    output, shape = "tokens", ["batch", "seq", width]
    if reduced is not None:
        nodes += node("ReduceMean", ["tokens"], "sentence_embedding", axes(reduced) + keep_none())
        output, shape = "sentence_embedding", [one for n, one in enumerate(shape) if n not in reduced]
    tensor = b"".join(number(1, n) for n in table.shape) + number(2, 1) + block(8, "table")
    tensor += block(9, table.astype("<f4").tobytes())
    given = b"".join(block(11, value(name, kind, ["batch", "seq"])) for name, kind in inputs.items())
    body = nodes + block(2, "tiny") + block(5, tensor) + given + block(12, value(output, "float32", shape))
    return number(1, 8) + block(7, body) + block(8, number(2, 13))


def keep_none() -> bytes:
    return block(5, block(1, "keepdims") + number(3, 0) + number(20, 2))


def table() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((len(WORDS), 6)).astype(np.float32)


@pytest.fixture
def rows() -> dict[str, np.ndarray]:
    return dict(zip(WORDS, table(), strict=True))


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    def build(
        name: str = "tiny",
        inputs: dict[str, str] | None = None,
        reduced: list[int] | None = None,
        pooling: dict[str, Any] | None = None,
        config: dict[str, Any] | None = None,
        values: np.ndarray | None = None,
    ) -> Path:
        folder = tmp_path / name
        (folder / "1_Pooling").mkdir(parents=True)
        asked = inputs or {"input_ids": "int64", "attention_mask": "int64"}
        (folder / "model.onnx").write_bytes(graph(table() if values is None else values, asked, reduced))
        (folder / "config.json").write_text(json.dumps(config or {}))
        if pooling is not None:
            (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
        tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, "[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        tokenizer.add_special_tokens(WORDS[:4])
        tokenizer.save(str(folder / "tokenizer.json"))
        return folder

    return build


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection may be opened."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a connection is opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
