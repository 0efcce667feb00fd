"""Models by name, one instance per process, with a back-off after failures."""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from watersmeet.core.errors import ModelProblem
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.sparse import SparseEncoder, Weighted
from watersmeet.core.vectors import Embedder
from watersmeet.engine.components import build, default, find, options
from watersmeet.engine.query.threads import LruCache
from watersmeet.engine.settings.settings import Settings, secret

if TYPE_CHECKING:
    from watersmeet.core.chat import Chat
    from watersmeet.core.vectors import Matrix, Vector
    from watersmeet.embed.crossencoder import Crossencoder

FIRST_PAUSE_SECONDS = 2.0
MAX_PAUSE_SECONDS = 300.0
CACHED_QUERIES = 256


def embedder(settings: Settings, name: str) -> GuardedEmbedder:
    """The embedder that the settings describe, with its secrets from the environment."""
    return GuardedEmbedder.shared(name, with_secrets(settings, "embed", name))


def chat(settings: Settings, name: str) -> Chat:
    """The chat model that the settings describe, with its secrets from the environment."""
    model: Chat = build("chat", name, with_secrets(settings, "chat", name))
    return model


def with_secrets(settings: Settings, kind: str, name: str) -> dict[str, Any]:
    """The table of a component, with the secrets that the environment has."""
    table = dict(settings.of(kind, name))
    fields = options(find(kind, name))
    for key, field in fields.items():
        if field.metadata.get("secret") and key not in table:
            table[key] = secret(table.get(f"{key}_env", default(fields[f"{key}_env"])))
    return table


def encoder(settings: Settings, name: str) -> GuardedEncoder:
    """The sparse encoder that the settings describe."""
    return GuardedEncoder.shared(name, settings.of("embed", name))


class NamedModel(Protocol):
    """The common part of embedders and encoders."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...


M = TypeVar("M")
N = TypeVar("N", bound=NamedModel)
Q = TypeVar("Q")
T = TypeVar("T")


class Guard(Generic[M]):
    """A model with back-off: after a failure, calls fail at once until a pause is over, which doubles each time."""

    def __init__(self, inner: M) -> None:
        self._inner = inner
        self._lock = Lock()
        self._problem: ModelProblem | None = None
        self._until = 0.0
        self._pause = FIRST_PAUSE_SECONDS

    @classmethod
    def shared(cls, name: str, table: dict[str, Any], model: str = "") -> Self:
        """The instance of this process; `model` is for components whose table does not name the model."""
        guard: Any = cls
        instance: Self = _instance(guard, name, json.dumps(table, sort_keys=True), model)
        return instance

    def check_last_call(self) -> None:
        """Raise if the last call failed, until the pause after it is over."""
        with self._lock:
            if self._problem is not None and time.monotonic() < self._until:
                raise self._problem.with_traceback(None)

    def call(self, work: Callable[[M], T]) -> T:
        self.check_last_call()
        try:
            value = work(self._inner)
        except ModelProblem as problem:
            with self._lock:
                self._problem, self._until = problem, time.monotonic() + self._pause
                self._pause = min(MAX_PAUSE_SECONDS, 2 * self._pause)
            raise
        with self._lock:
            self._problem, self._pause = None, FIRST_PAUSE_SECONDS
        return value


@cache
def _instance(guard: Any, name: str, table: str, model: str) -> Any:
    return guard(build("embed", name, json.loads(table), model=model))


class _TierModel(Guard[N], Generic[N, Q]):
    """A model of an index tier, with a cache of query embeddings: one search embeds the same query several times."""

    def __init__(self, inner: N) -> None:
        super().__init__(inner)
        self._queries: LruCache[Q] = LruCache(
            lambda text: self.call(lambda model: self._embed_query(model, text)), CACHED_QUERIES
        )

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def fingerprint(self) -> str:
        return self.call(lambda model: model.fingerprint)

    def embed_query(self, text: str) -> Q:
        return self._queries.get(text)

    @property
    def reads(self) -> tuple[str, ...]:
        """Codes of the languages that the model reads; empty if it does not say."""
        return self.call(lambda model: tuple(getattr(model, "reads", ())))

    @abstractmethod
    def _embed_query(self, model: N, text: str) -> Q: ...


class GuardedEmbedder(_TierModel[Embedder, "Vector"]):
    """A guarded model that makes vectors."""

    @property
    def dimension(self) -> int:
        return self.call(lambda model: model.dimension)

    @property
    def replaces(self) -> frozenset[str]:
        """Fingerprints of earlier files of the same model; few embedders have any."""
        return self.call(lambda model: frozenset(getattr(model, "replaces", ())))

    def price(self, tokens: int) -> float | None:
        """The price of so many tokens in US dollars; None if it is not known, as of few embedders it is."""
        found: float | None = getattr(self._inner, "price", lambda _: None)(tokens)
        return found

    def ready(self) -> bool:
        """True, or raises why the model cannot be used."""
        return self.dimension > 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self.call(lambda model: model.embed(texts))

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        return self._inner.embed_stream(texts, batch)

    def _embed_query(self, model: Embedder, text: str) -> Vector:
        return model.embed_query(text)


class GuardedEncoder(_TierModel[SparseEncoder, Weighted]):
    """A guarded model that makes weighted terms."""

    dimension = 0  # weighted terms have no fixed width

    def price(self, tokens: int) -> None:
        """Not known."""

    replaces: frozenset[str] = frozenset()

    def ready(self) -> bool:
        """True, or raises why the model cannot be used."""
        return bool(self.encode(["ready"]))

    def encode(self, texts: Sequence[str]) -> list[Weighted]:
        return self.call(lambda model: model.encode(texts))

    def _embed_query(self, model: SparseEncoder, text: str) -> Weighted:
        return model.encode_query(text)


@dataclass(frozen=True, slots=True)
class PairScorers:
    """The `pair_scorer` port of stages: cross-encoders by name."""

    settings: Settings

    def score(self, model: str, query: str, texts: Sequence[str]) -> list[float]:
        guard: Guard[Crossencoder] = Guard.shared("crossencoder", self.settings.of("embed", "crossencoder"), model)
        return guard.call(lambda reader: reader.score(query, texts))
