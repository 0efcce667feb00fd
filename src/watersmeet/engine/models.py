"""Embedders by name, each made once per process; one that fails is left alone for a while, then tried again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ModelProblem
from watersmeet.core.vectors import Embedder
from watersmeet.engine.components import build, default, find, options
from watersmeet.engine.settings import Settings, secret
from watersmeet.engine.threads import Remembered

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector

FIRST_PAUSE = 2.0
LONGEST_PAUSE = 300.0
REMEMBERED = 256


def embedder(settings: Settings, name: str) -> Guarded:
    """The embedder that the settings describe, with the secrets that the environment keeps for it."""
    table = dict(settings.of("embed", name))
    known = options(find("embed", name))
    for key, field in known.items():
        if field.metadata.get("secret") and key not in table:
            table[key] = secret(table.get(f"{key}_env", default(known[f"{key}_env"])))
    return _made(name, json.dumps(table, sort_keys=True))


@cache
def _made(name: str, table: str) -> Guarded:
    return Guarded(build("embed", name, json.loads(table)))


class Patience:
    """A failure is remembered: what failed is tried again only after a pause that doubles each time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._problem: ModelProblem | None = None
        self._until = 0.0
        self._pause = FIRST_PAUSE

    def tried(self, work: Callable[[], Any]) -> Any:
        with self._lock:
            if self._problem is not None and time.monotonic() < self._until:
                raise self._problem.with_traceback(None)
        try:
            value = work()
        except ModelProblem as problem:
            with self._lock:
                self._problem, self._until = problem, time.monotonic() + self._pause
                self._pause = min(LONGEST_PAUSE, 2 * self._pause)
            raise
        with self._lock:
            self._problem, self._pause = None, FIRST_PAUSE
        return value


class Guarded:
    """An embedder that is asked with patience."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._tried = Patience().tried
        self._queries: Remembered[Vector] = Remembered(self._embed_query, REMEMBERED)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimension(self) -> int:
        return int(self._tried(lambda: self._inner.dimension))

    @property
    def fingerprint(self) -> str:
        return str(self._tried(lambda: self._inner.fingerprint))

    def ready(self) -> bool:
        """True, or the reason why not is raised."""
        return self.dimension > 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self._tried(lambda: self._inner.embed(texts))  # type: ignore[no-any-return] # as the inner one gives it

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        return self._inner.embed_stream(texts, batch)

    def embed_query(self, text: str) -> Vector:
        """The same query is asked for several times on its way: it is remembered for a while."""
        return self._queries.get(text)

    def _embed_query(self, text: str) -> Vector:
        vector: Vector = self._tried(lambda: self._inner.embed_query(text))
        return vector
