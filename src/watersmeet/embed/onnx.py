"""ONNX embedder: any sentence encoder in a folder with its tokenizer.

Each text is a pass of its own, several in parallel. On granite-30m and two cores that is as fast as any padded batch
(46.9 texts a second against 40 to 47). An int8 graph scales its activations over the whole batch: in a batch, a text's
vector had a cosine of as little as .956 with that of the text alone.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.options import option
from watersmeet.embed._common import fingerprint, languages, usable
from watersmeet.embed._encoder import Encoder, continued, encoder, graph_file, replaces, stamp
from watersmeet.embed._locate import locate

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from watersmeet.core.vectors import Matrix, Vector

    _Pass = tuple[list[int], Future[Matrix]]


@dataclass(frozen=True, slots=True)
class Onnx:
    """A transformer in the ONNX format, run on this machine; the shipped one by default."""

    remote: ClassVar[bool] = False
    quick: ClassVar[bool] = False

    model: str = option(
        "granite-30m", "a folder (/…, ./… or ~/…), an installed data package, or owner/model of the hub"
    )
    file: str = option("", "the graph's file in that folder; empty: model.onnx or onnx/model.onnx")
    threads: int = option(0, "passes that run in parallel; 0: one for each core")
    batch_tokens: int = option(1, "padded tokens in a pass; 1: each text alone, which makes its vector repeatable")
    max_tokens: int = option(0, "where a text is cut; 0: what the model's configuration says")
    pooling: str = option("", "cls or mean; empty: what the model's configuration says")
    query_prefix: str = option("", "what the model wants before a query")
    query_model: str = option("", "a model like `model` that embeds queries; empty: `model` embeds them too")
    text_prefix: str = option("", "what the model wants before a text")
    languages: tuple[str, ...] = option((), "codes of the languages it reads (de, en); empty: as in its languages.json")
    download: bool = option(True, "fetch an owner/model from the hub when it is not on this machine")

    @property
    def name(self) -> str:
        return Path(self.model).name

    @property
    def dimension(self) -> int:
        return self._encoder().dimension

    @property
    def fingerprint(self) -> str:
        folder = self._folder()
        files = [graph_file(folder, self.file), folder / "tokenizer.json"]
        files += [path for path in (folder / "config.json", folder / "1_Pooling" / "config.json") if path.is_file()]
        stamps = tuple((path, *stamp(path)) for path in files)
        return _fingerprint(
            stamps, self.batch_tokens, self.max_tokens, self.pooling, self.query_prefix, self.text_prefix
        )

    @property
    def replaces(self) -> frozenset[str]:
        """Fingerprints of earlier files of the same weights, from the folder's `replaces.json`."""
        return replaces(self._folder() / "replaces.json")

    @property
    def reads(self) -> tuple[str, ...]:
        """Languages that the model reads, from the setting or the folder's `languages.json`; empty: unknown."""
        return tuple(self.languages) or languages(self._folder() / "languages.json")

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start, vectors in self.embed_stream(texts, max(256, len(texts) // 8)):
            result[start : start + len(vectors)] = vectors
        return result

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        """Vectors in order; the next batch is computed while the caller stores this one.

        On Ctrl-C, finished vectors are yielded one by one, then the interrupt is raised.
        """
        from concurrent.futures import ThreadPoolExecutor  # here: it brings logging, and a query has no batches

        model = self._encoder()
        width = self.threads or _cores()
        step = max(batch, 1)
        with ThreadPoolExecutor(width, "embed") as pool:
            waiting: deque[tuple[int, int, list[_Pass]]] = deque()
            try:
                for start in range(0, len(texts), step):
                    some = texts[start : start + step]
                    waiting.append((start, len(some), self._submit(pool, model, some)))
                    if len(waiting) > 1:
                        found = _collect(model, *waiting[0])
                        waiting.popleft()
                        yield found
                while waiting:
                    found = _collect(model, *waiting[0])
                    waiting.popleft()
                    yield found
            except KeyboardInterrupt:
                pool.shutdown(wait=True, cancel_futures=True)
                for start, _, passes in waiting:
                    yield from _finished(model, start, passes)
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def embed_query(self, text: str) -> Vector:
        import numpy as np

        model = self._query_encoder()
        if not text.strip():
            return np.zeros(model.dimension, dtype=np.float32)
        vector: Vector = usable(model.run(model.tokens([self.query_prefix + text])), model.path)[0]
        return vector

    def _folder(self) -> Path:
        return locate(self.model, self.file, self.download)

    def _encoder(self) -> Encoder:
        return encoder(self._folder(), self.file, self.max_tokens, self.pooling)

    def _query_encoder(self) -> Encoder:
        """The encoder of queries. Vectors of texts do not depend on it, so it is no part of the fingerprint."""
        if not self.query_model:
            return self._encoder()
        folder = locate(self.query_model, self.file, self.download)
        return encoder(folder, self.file, self.max_tokens, self.pooling)

    def _submit(self, pool: ThreadPoolExecutor, model: Encoder, texts: Sequence[str]) -> list[_Pass]:
        """Start passes over these texts, longest first, so that the last to finish are short."""
        places = [place for place, text in enumerate(texts) if text.strip()]
        tokens = dict(zip(places, model.tokens([self.text_prefix + texts[place] for place in places]), strict=True))
        places.sort(key=lambda place: -len(tokens[place]))
        passes: list[_Pass] = []
        while places:
            count = max(1, self.batch_tokens // len(tokens[places[0]]))
            group, places = places[:count], places[count:]
            passes.append((group, pool.submit(model.run, [tokens[place] for place in group])))
        return passes


def _collect(model: Encoder, start: int, count: int, passes: list[_Pass]) -> tuple[int, Matrix]:
    import numpy as np

    result = np.zeros((count, model.dimension), dtype=np.float32)
    for places, done in passes:
        result[places] = usable(done.result(), model.path)
    return start, result


def _finished(model: Encoder, start: int, passes: list[_Pass]) -> Iterator[tuple[int, Matrix]]:
    """Vectors of passes that finished before the others were cancelled."""
    for places, done in passes:
        if not done.cancelled() and done.exception() is None:
            for place, row in zip(places, usable(done.result(), model.path), strict=True):
                yield start + place, row[None]


@functools.lru_cache(maxsize=16)
def _fingerprint(
    files: tuple[tuple[Path, int, int], ...], batch: int, tokens: int, pooling: str, query: str, text: str
) -> str:
    settings = {"batch": batch, "tokens": tokens, "pooling": pooling, "query": query, "text": text}
    made = fingerprint([path for path, _, _ in files], settings)
    return continued(files[0][0].parent / "continues.json", made)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
