"""SPLADE sparse encoder: any SPLADE-type ONNX graph in a folder with its tokenizer.

A term is a token of the model's vocabulary; its weight is log(1 + its highest score anywhere in the text). A folder
with a file of query weights is inference-free: a query is its own tokens with those weights, and only texts need the
model. Each text is a pass of its own, for the reason given in `onnx`.
"""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.common.encodable import clean
from watersmeet.core.errors import ModelProblem
from watersmeet.core.options import option
from watersmeet.core.sparse import Weighted
from watersmeet.embed._common import fingerprint, unreadable
from watersmeet.embed._encoder import Encoder, encoder, graph_file, stamp, tokenizer_of
from watersmeet.embed._locate import locate

if TYPE_CHECKING:
    from watersmeet.core.vectors import Vector

_Stamps = tuple[tuple[Path, int, int], ...]
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Splade:
    """Sparse vectors of a SPLADE model in the ONNX format."""

    remote: ClassVar[bool] = False
    quick: ClassVar[bool] = False

    model: str = option("", "a folder (/…, ./… or ~/…), an installed data package, or owner/model of the hub")
    file: str = option("", "the graph's file in that folder; empty: model.onnx or onnx/model.onnx")
    query_weights: str = option("idf.json", "a file of weights by token: where there is one, queries need no model")
    top: int = option(256, "how many terms of a text are kept, the heaviest; 0: all")
    query_top: int = option(64, "how many terms of a query are kept; 0: all")
    logarithms: int = option(1, "how often the logarithm is taken: 2 for models that were trained so")
    max_tokens: int = option(0, "where a text is cut; 0: what the model's configuration says")
    threads: int = option(0, "passes that run in parallel; 0: one for each core")
    download: bool = option(True, "fetch an owner/model from the hub when it is not on this machine")

    @property
    def name(self) -> str:
        return Path(self.model).name or "splade"

    @property
    def fingerprint(self) -> str:
        folder = self._folder()
        optional = [folder / "config.json", *([folder / self.query_weights] if self.query_weights else [])]
        files = [graph_file(folder, self.file), folder / "tokenizer.json"]
        files += [path for path in optional if path.is_file()]
        stamps = tuple((path, *stamp(path)) for path in files)
        return _fingerprint(stamps, self.top, self.logarithms, self.max_tokens)

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        model = self._encoder()
        with ThreadPoolExecutor(self.threads or os.cpu_count() or 1, "splade") as pool:
            try:
                return list(pool.map(lambda text: self._encoded(model, text, self.top), texts))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def encode_query(self, text: str) -> Weighted:
        folder = self._folder()
        weights = self._weights(folder)
        if weights is None:
            return self._encoded(self._encoder(), text, self.query_top)
        import numpy as np

        tokens = tokenizer_of(folder, self.max_tokens).encode(clean(text), add_special_tokens=False).ids
        terms = sorted({token for token in tokens if weights.get(token, 0) > 0})
        values = np.array([weights[term] for term in terms], dtype=np.float32)
        return _heaviest(np.array(terms, dtype=np.int64), values, self.query_top)

    def _encoded(self, model: Encoder, text: str, top: int) -> Weighted:
        import numpy as np

        if not text.strip():
            return Weighted(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        scores: Vector = model.run(model.tokens([text]))[0]
        special = [
            token for token, added in model.tokenizer.whole().get_added_tokens_decoder().items() if added.special
        ]
        scores[[token for token in special if token < len(scores)]] = 0
        scores = np.maximum(scores, 0)
        for _ in range(max(1, self.logarithms)):
            scores = np.log1p(scores)
        terms = np.flatnonzero(scores)
        return _heaviest(terms, scores[terms], top)

    def _folder(self) -> Path:
        return locate(self.model, self.file, self.download)

    def _encoder(self) -> Encoder:
        return encoder(self._folder(), self.file, self.max_tokens, "max")

    def _weights(self, folder: Path) -> dict[int, float] | None:
        path = folder / self.query_weights
        if not self.query_weights or not path.is_file():
            return None
        with _loading:
            return _read_weights(folder, path, stamp(path), self.max_tokens)


def _heaviest(terms: Any, weights: Vector, top: int) -> Weighted:
    """The heaviest terms, in ascending order of term id."""
    import numpy as np

    if top and len(terms) > top:
        kept = np.sort(np.lexsort((terms, -weights))[:top])
        terms, weights = terms[kept], weights[kept]
    return Weighted(terms, weights)


@functools.lru_cache(maxsize=4)
def _read_weights(folder: Path, path: Path, _: tuple[int, int], max_tokens: int) -> dict[int, float]:
    """Query weights by token id; unknown tokens are left out."""
    try:
        stated = json.loads(path.read_bytes())
        weights = {tokenizer_of(folder, max_tokens).token_to_id(token): float(value) for token, value in stated.items()}
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, TypeError, AttributeError) as error:
        hint = "it must be one JSON object with a number for each token"
        raise ModelProblem(f"cannot read {path}: {error}", hint) from error
    return {token: value for token, value in weights.items() if token is not None}


@functools.lru_cache(maxsize=16)
def _fingerprint(files: _Stamps, top: int, logarithms: int, tokens: int) -> str:
    settings = {"top": top, "logarithms": logarithms, "tokens": tokens}
    return fingerprint([path for path, _, _ in files], settings)
