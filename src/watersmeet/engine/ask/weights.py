"""What the checker knows of the index: how rare a word is, and how near two texts are in meaning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from watersmeet.core.errors import ModelProblem
from watersmeet.engine.ask.checker import Similarity
from watersmeet.engine.settings.settings import Settings

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine


class WordWeights:
    """Weights of words by how many chunks have them. A snapshot is open only while new words are looked up: a model's
    reply may take minutes."""

    def __init__(self, engine: Engine, viewer: Viewer | None) -> None:
        self._engine, self._viewer = engine, viewer
        self._weights: dict[str, float] = {}

    def __call__(self, words: Sequence[str]) -> Sequence[float]:
        new = [word for word in words if word not in self._weights]
        if new:
            with self._engine.snapshot() as snapshot:
                index = self._engine.visible_index(snapshot, self._viewer).words
                size, counts = (index.size, index.frequencies("body", new)) if index else (0, [0] * len(new))
            self._weights |= {word: math.log(2 + size / (1 + count)) for word, count in zip(new, counts, strict=True)}
        return [self._weights[word] for word in words]


def static_similarity(settings: Settings) -> Similarity | None:
    """Cosines of static vectors; none if there is no such model on this machine."""
    from watersmeet.engine.components import find
    from watersmeet.engine.models import embedder

    index = settings.section("index")
    if not index.vectors or not index.static or getattr(find("embed", index.static), "remote", False):
        return None
    model = embedder(settings, index.static)
    try:
        model.ready()
    except ModelProblem:
        return None

    def similarity(text: str, others: Sequence[str]) -> Sequence[float]:
        vectors = model.embed([text, *others])
        return [float(value) for value in vectors[1:] @ vectors[0]]

    return similarity
