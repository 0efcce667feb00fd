"""Models by name, each made once a process and guarded: one that fails is left alone for a while, then tried again."""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from watersmeet.core.errors import ModelProblem
from watersmeet.core.sparse import SparseEncoder, Weighted
from watersmeet.core.vectors import Embedder
from watersmeet.engine.components import build, default, find, options
from watersmeet.engine.query.threads import LruCache
from watersmeet.engine.settings.settings import Settings, secret

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector
    from watersmeet.embed.crossencoder import Crossencoder

FIRST_PAUSE = 2.0
LONGEST_PAUSE = 300.0
REMEMBERED = 256


def embedder(settings: Settings, name: str) -> GuardedEmbedder:
    """The embedder that the settings describe, with the secrets that the environment keeps for it."""
    table = dict(settings.of("embed", name))
    known = options(find("embed", name))
    for key, field in known.items():
        if field.metadata.get("secret") and key not in table:
            table[key] = secret(table.get(f"{key}_env", default(known[f"{key}_env"])))
    return GuardedEmbedder.made(name, table)


def encoder(settings: Settings, name: str) -> GuardedEncoder:
    """The sparse encoder that the settings describe."""
    return GuardedEncoder.made(name, settings.of("embed", name))


class NamedModel(Protocol):
    """What embedders and encoders have in common."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...


M = TypeVar("M")
N = TypeVar("N", bound=NamedModel)
Q = TypeVar("Q")
T = TypeVar("T")


class Guard(Generic[M]):
    """A model that is asked with patience: what failed is tried again only after a pause that doubles each time."""

    def __init__(self, inner: M) -> None:
        self._inner = inner
        self._lock = Lock()
        self._problem: ModelProblem | None = None
        self._until = 0.0
        self._pause = FIRST_PAUSE

    @classmethod
    def made(cls, name: str, table: dict[str, Any], model: str = "") -> Self:
        """The one of this process; `model` is for those whose table does not name it."""
        guard: Any = cls
        found: Self = _made(guard, name, json.dumps(table, sort_keys=True), model)
        return found

    def ask(self, work: Callable[[M], T]) -> T:
        with self._lock:
            if self._problem is not None and time.monotonic() < self._until:
                raise self._problem.with_traceback(None)
        try:
            value = work(self._inner)
        except ModelProblem as problem:
            with self._lock:
                self._problem, self._until = problem, time.monotonic() + self._pause
                self._pause = min(LONGEST_PAUSE, 2 * self._pause)
            raise
        with self._lock:
            self._problem, self._pause = None, FIRST_PAUSE
        return value


@cache
def _made(guard: Any, name: str, table: str, model: str) -> Any:
    return guard(build("embed", name, json.loads(table), model=model))


class _OfATier(Guard[N], Generic[N, Q]):
    """What the tier of an index is made with, and what a query becomes: the same one is asked for several times on its
    way, and is remembered for a while."""

    def __init__(self, inner: N) -> None:
        super().__init__(inner)
        self._queries: LruCache[Q] = LruCache(lambda text: self.ask(lambda model: self._read(model, text)), REMEMBERED)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def fingerprint(self) -> str:
        return self.ask(lambda model: model.fingerprint)

    def embed_query(self, text: str) -> Q:
        return self._queries.get(text)

    @abstractmethod
    def _read(self, model: N, text: str) -> Q: ...


class GuardedEmbedder(_OfATier[Embedder, "Vector"]):
    """Vectors."""

    @property
    def dimension(self) -> int:
        return self.ask(lambda model: model.dimension)

    @property
    def replaces(self) -> frozenset[str]:
        """Fingerprints of earlier files of the same model; few embedders have any."""
        return self.ask(lambda model: frozenset(getattr(model, "replaces", ())))

    def ready(self) -> bool:
        """True, or the reason why not is raised."""
        return self.dimension > 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self.ask(lambda model: model.embed(texts))

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        return self._inner.embed_stream(texts, batch)

    def _read(self, model: Embedder, text: str) -> Vector:
        return model.embed_query(text)


class GuardedEncoder(_OfATier[SparseEncoder, Weighted]):
    """Weighted terms."""

    dimension = 0  # what it gives has no fixed width
    replaces: frozenset[str] = frozenset()

    def ready(self) -> bool:
        """True, or the reason why not is raised."""
        return bool(self.encode(["ready"]))

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        return self.ask(lambda model: model.encode(texts))

    def _read(self, model: SparseEncoder, text: str) -> Weighted:
        return model.encode_query(text)


@dataclass(frozen=True, slots=True)
class PairScorers:
    """The `pairs` port of the stages, under these settings."""

    settings: Settings

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]:
        guard: Guard[Crossencoder] = Guard.made("crossencoder", self.settings.of("embed", "crossencoder"), model)
        return guard.ask(lambda reader: reader.score(query, texts))
