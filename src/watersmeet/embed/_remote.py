"""Embedders on another machine: batches, rate limits, and checks of what comes back.

A component derives from `Remote`, or from `HttpRemote` if it is asked with JSON over HTTP, and sends one request.
"""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.common.addresses import check_address
from watersmeet.common.encodable import clean
from watersmeet.common.http import Client, Reply
from watersmeet.common.redaction import shown
from watersmeet.core.errors import ModelMissing, ModelProblem, NoReply, Unreachable
from watersmeet.core.options import option, secret_key
from watersmeet.core.token_count import estimate
from watersmeet.embed._common import in_slices, usable

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector

LATER = "is the endpoint up? try again later"
_MAX_BYTES = 1 << 28
_MINUTE = 60.0
dimensions: dict[tuple[str, ...], int] = {}
"""Lengths of vectors, by model: learned from the first answer of this process."""


class Pace:
    """Rate limit of one endpoint: requests and estimated tokens of the last minute, counted in this process."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._sent: deque[tuple[float, int]] = deque()
        self._tokens = 0

    def take(self, tokens: int, most_requests: int, most_tokens: int, waits: bool = True) -> None:
        """Count a request, and wait until the limits allow it; 0: no limit. `waits=False`: only count it.

        A request that is larger than the limit goes alone."""
        while True:
            with self._lock:
                pause = self._pause(tokens, most_requests, most_tokens) if waits else 0.0
                if pause <= 0:
                    self._sent.append((self._clock(), tokens))
                    self._tokens += tokens
                    return
            self._sleep(pause)

    def _pause(self, tokens: int, most_requests: int, most_tokens: int) -> float:
        """Seconds until the next look: until the oldest request is a minute old, if there is no room."""
        now = self._clock()
        while self._sent and self._sent[0][0] <= now - _MINUTE:
            self._tokens -= self._sent.popleft()[1]
        full = 0 < most_requests <= len(self._sent) or (self._sent and 0 < most_tokens < self._tokens + tokens)
        return self._sent[0][0] + _MINUTE - now if full else 0.0


@lru_cache(maxsize=64)
def pace_of(_: tuple[str, ...]) -> Pace:
    """The pace of an endpoint, which all embedders of this process share."""
    return Pace()


@dataclass(frozen=True, slots=True)
class Remote(ABC):
    """The common settings of models on another machine, and their batches."""

    remote: ClassVar[bool] = True
    quick: ClassVar[bool] = False
    setting: ClassVar[str]
    """The table of the component, for hints."""

    model: str = option("", "the model's name", outside=True)
    batch: int = option(64, "texts in one request", outside=True, least=1)
    dimensions: int = option(0, "requested length of vectors; 0: the model's own", outside=True, least=0)
    timeout: float = option(30.0, "seconds to wait for an answer", outside=True, least=0)
    retries: int = option(5, "how often a request is tried again; a query at most once", outside=True, least=0)
    query_prefix: str = option("", "what the model wants before a query", outside=True)
    text_prefix: str = option("", "what the model wants before a text", outside=True)
    requests_per_minute: int = option(
        0, "most requests in a minute, which this process keeps to; 0: no limit", outside=True, least=0
    )
    tokens_per_minute: int = option(0, "most estimated tokens in a minute; 0: no limit", outside=True, least=0)
    price_per_million_tokens: float | None = option(
        None,
        "price of a million tokens in US dollars, for the cost that a sync shows; unset: unknown",
        outside=True,
        least=0,
    )

    @property
    @abstractmethod
    def identity(self) -> tuple[str, ...]:
        """Where the model is, and which it is; requests of one identity share their rate limits."""

    @property
    @abstractmethod
    def fingerprint(self) -> str: ...

    @abstractmethod
    def _request(self, texts: list[str], query: bool, tries: int) -> Matrix:
        """Vectors of at most `batch` texts, by one answer or several; none of the texts is blank."""

    @property
    def name(self) -> str:
        return self.model

    @property
    def dimension(self) -> int:
        found = self.dimensions or dimensions.get(self.identity)
        return found or int(self._request([self.query_prefix + "dimension"], query=True, tries=2).shape[1])

    def price(self, tokens: int) -> float | None:
        """The price of so many tokens in US dollars; None if it is not known."""
        return None if self.price_per_million_tokens is None else self.price_per_million_tokens * tokens / 1e6

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, query=False)

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        """Vectors of at most one request at a time, so that finished requests are not repeated."""
        return in_slices(self.embed, texts, min(batch, max(self.batch, 1)))

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([text], query=True)[0]
        return vector

    def _embed(self, texts: Sequence[str], query: bool) -> Matrix:
        import numpy as np

        prefix, tries = (self.query_prefix, min(self.retries, 1)) if query else (self.text_prefix, self.retries)
        places = [place for place, text in enumerate(texts) if text.strip()]
        found: list[tuple[list[int], Matrix]] = []
        for start in range(0, len(places), max(self.batch, 1)):
            some = places[start : start + max(self.batch, 1)]
            found.append((some, self._request([prefix + clean(texts[place]) for place in some], query, tries + 1)))
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for some, vectors in found:
            result[some] = vectors
        return result

    def _pace(self, texts: Sequence[str], query: bool) -> None:
        """Wait until the rate limits allow a request. A query does not wait: its search would be over."""
        if self.requests_per_minute or self.tokens_per_minute:
            tokens = sum(map(estimate, texts))
            pace_of(self.identity).take(tokens, self.requests_per_minute, self.tokens_per_minute, waits=not query)

    def _checked(self, vectors: Sequence[Sequence[float]], count: int) -> Matrix:
        """As many vectors as texts, all of the length that this model has had before."""
        import numpy as np

        if len(vectors) != count:
            raise self._wrong(f"gave {len(vectors)} vectors for {count} texts")
        expected = self.dimensions or dimensions.get(self.identity) or len(vectors[0])
        wrong = next((len(one) for one in vectors if len(one) != expected), None)
        if wrong is not None:
            dimensions.pop(self.identity, None)  # unknown which was right: the next request sets it
            raise self._wrong(f"gave a vector of {wrong} numbers where {expected} were expected")
        try:
            with np.errstate(over="ignore"):  # becomes infinity, which is refused below
                made = np.array(vectors).astype(np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._wrong("gave something that is no vector") from error
        rows = usable(made, self._who)
        dimensions[self.identity] = expected
        return rows

    @property
    def _who(self) -> str:
        """The endpoint, for messages."""
        return self.model

    def _wrong(self, what: str) -> ModelProblem:
        hint = f"check [{self.setting}]: is {self.model} a model that embeds text"
        hint += f", and can its vectors have {self.dimensions} numbers (dimensions)?" if self.dimensions else "?"
        return ModelProblem(f"{self._who} {what}", hint)


@dataclass(frozen=True, slots=True)
class HttpRemote(Remote):
    """A model that is asked with JSON over HTTP."""

    base_url: str = option("", "URL of the endpoint", outside=True)
    api_key_env: str = option("", "the environment variable that holds the key", outside=True)
    deadline: float = option(300.0, "seconds for a request with all its retries", outside=True, least=0)
    backoff: float = option(
        0.5,
        "seconds before the first retry; doubled for each further one, longer if the endpoint says so (Retry-After)",
        outside=True,
        least=0,
    )
    api_key: str = secret_key()

    def __post_init__(self) -> None:
        check_address("base_url", self.base_url)

    @property
    def identity(self) -> tuple[str, ...]:
        return self.base_url.rstrip("/"), self.model

    def _post(self, path: str, body: Mapping[str, Any], texts: Sequence[str], query: bool, tries: int) -> Any:
        """The JSON of one answer, after retries."""
        self._pace(texts, query)
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        client = Client(
            guard=None,  # the user has chosen the endpoint, and it may be on this machine
            timeout=self.timeout,
            deadline=self.deadline,
            retries=tries - 1,
            backoff=self.backoff,
            max_bytes=_MAX_BYTES,
        )
        try:
            reply = client.post(self.identity[0] + path, json.dumps(body).encode(), headers)
        except NoReply as problem:
            down = isinstance(problem, Unreachable)
            hint = self._unreachable if down else f"{problem.hint} ({self.setting}.base_url)"
            raise ModelProblem(str(problem), hint) from problem
        if reply.status != 200:
            raise self._refused(reply)
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError) as error:
            raise self._wrong("gave an answer that is not JSON") from error

    def _refused(self, reply: Reply) -> ModelProblem:
        if reply.status in (401, 403):
            valid = "a valid key" if self.api_key else "a key: it is not set"
            return ModelProblem(reply.error, f"set {self.api_key_env} to {valid}")
        if reply.status == 404:
            return ModelMissing(reply.error, self._missing)
        if reply.status == 429:
            limits = f"{self.setting}.requests_per_minute or tokens_per_minute"
            return ModelProblem(reply.error, f"too many requests, or the quota is used up: try later, or set {limits}")
        if reply.retryable:
            return ModelProblem(reply.error, LATER)
        return ModelProblem(reply.error, f"check {self.setting}.base_url and model ({self.model})")

    @property
    def _unreachable(self) -> str:
        return f"check the address and the network ({self.setting}.base_url)"

    @property
    def _missing(self) -> str:
        """The hint for a model or path that does not exist."""
        return f"check {self.setting}.base_url and model ({self.model})"

    @property
    def _who(self) -> str:
        return shown(self.base_url)
