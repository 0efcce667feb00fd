"""Sparse encoders by name, each made once per process; one that fails is left alone for a while."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from watersmeet.core.sparse import SparseEncoder, Weighted
from watersmeet.engine.components import build
from watersmeet.engine.models import REMEMBERED, Patience
from watersmeet.engine.settings import Settings
from watersmeet.engine.threads import Remembered


def encoder(settings: Settings, name: str) -> GuardedEncoder:
    return _made(name, json.dumps(settings.of("embed", name), sort_keys=True))


@cache
def _made(name: str, table: str) -> GuardedEncoder:
    return GuardedEncoder(build("embed", name, json.loads(table)))


class GuardedEncoder:
    """A sparse encoder that is asked with patience, as an embedder is."""

    dimension = 0  # what it gives has no fixed width

    def __init__(self, inner: SparseEncoder) -> None:
        self._inner = inner
        self._tried = Patience().tried
        self._queries: Remembered[Weighted] = Remembered(self._encode_query, REMEMBERED)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def fingerprint(self) -> str:
        return str(self._tried(lambda: self._inner.fingerprint))

    def ready(self) -> bool:
        """True, or the reason why not is raised."""
        return bool(self.encode(["ready"]))

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        encoded: list[Weighted] = self._tried(lambda: self._inner.encode(texts))
        return encoded

    def embed_query(self, text: str) -> Weighted:
        """The same query is asked for several times on its way: it is remembered for a while."""
        return self._queries.get(text)

    def _encode_query(self, text: str) -> Weighted:
        query: Weighted = self._tried(lambda: self._inner.encode_query(text))
        return query
