"""OpenAI embedder: any HTTP endpoint with OpenAI's `/embeddings`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.common.encodable import clean
from watersmeet.common.http import Client, Reply
from watersmeet.common.redaction import shown
from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem, NoReply
from watersmeet.core.options import option
from watersmeet.embed._common import fingerprint, in_slices, usable

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector

_MAX_BYTES = 1 << 28
_dimensions: dict[tuple[str, str], int] = {}


@dataclass(frozen=True, slots=True)
class OpenAI:
    remote: ClassVar[bool] = True
    quick: ClassVar[bool] = False

    base_url: str = option("https://api.openai.com/v1", "URL in front of `/embeddings`")
    model: str = option("text-embedding-3-small", "the model's name at that endpoint")
    api_key_env: str = option("OPENAI_API_KEY", "the environment variable that holds the key")
    batch: int = option(64, "texts in one request")
    dimensions: int = option(0, "requested length of vectors; 0: the model's own")
    timeout: float = option(30.0, "seconds to wait for an answer")
    deadline: float = option(300.0, "seconds for a request with all its retries")
    retries: int = option(5, "how often a request is tried again; a query at most once")
    backoff: float = option(0.5, "seconds before the first retry; doubled for each further one")
    query_prefix: str = option("", "what the model wants before a query")
    text_prefix: str = option("", "what the model wants before a text")
    api_key: str = field(default="", repr=False, metadata={"meaning": "the key itself", "secret": True})

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise ConfigError(
                f"base_url {shown(self.base_url)!r} is not a web address",
                "give one that begins with http:// or https://",
            )

    @property
    def name(self) -> str:
        return self.model

    @property
    def dimension(self) -> int:
        return self.dimensions or _dimensions.get(self._endpoint) or self._request(["dimension"], tries=2).shape[1]

    @property
    def fingerprint(self) -> str:
        settings = [*self._endpoint, self.dimensions, self.query_prefix, self.text_prefix]
        return fingerprint([], {"openai": settings})

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self.text_prefix, self.retries + 1)

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        """Vectors of at most one request at a time, so that finished requests are not repeated."""
        return in_slices(self.embed, texts, min(batch, max(self.batch, 1)))

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([text], self.query_prefix, min(self.retries, 1) + 1)[0]
        return vector

    @property
    def _endpoint(self) -> tuple[str, str]:
        return self.base_url.rstrip("/"), self.model

    def _embed(self, texts: Sequence[str], prefix: str, tries: int) -> Matrix:
        import numpy as np

        places = [place for place, text in enumerate(texts) if text.strip()]
        found: list[tuple[list[int], Matrix]] = []
        for start in range(0, len(places), max(self.batch, 1)):
            some = places[start : start + max(self.batch, 1)]
            found.append((some, self._request([prefix + clean(texts[p]) for p in some], tries)))
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for some, vectors in found:
            result[some] = vectors
        return result

    def _request(self, texts: list[str], tries: int) -> Matrix:
        """Vectors of one request, with retries."""
        body: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimensions:
            body["dimensions"] = self.dimensions
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
            reply = client.post(self._endpoint[0] + "/embeddings", json.dumps(body).encode(), headers)
        except NoReply as problem:
            raise ModelProblem(str(problem), f"{problem.hint} (embed.openai.base_url)") from problem
        if reply.status != 200:
            raise self._refused(reply)
        return self._checked(reply.body, len(texts))

    def _refused(self, reply: Reply) -> ModelProblem:
        if reply.retryable:
            return ModelProblem(reply.error, "is the endpoint up? try again later")
        if reply.status in (401, 403):
            return ModelProblem(reply.error, f"set {self.api_key_env} to a valid key")
        kind = ModelMissing if reply.status == 404 else ModelProblem
        return kind(reply.error, f"check base_url and model ({self.model})")

    def _checked(self, content: bytes, count: int) -> Matrix:
        """Vectors in the order of the texts, all of the length that this endpoint has used before."""
        import numpy as np

        try:
            data = json.loads(content)["data"]
            by_place = {int(one.get("index", n)): [float(x) for x in one["embedding"]] for n, one in enumerate(data)}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._problem("gave an answer that is not a list of embeddings") from error
        if sorted(by_place) != list(range(count)) or len(data) != count:
            raise self._problem(f"gave {len(data)} vectors for {count} texts")
        vectors = [by_place[place] for place in range(count)]
        expected = self.dimensions or _dimensions.get(self._endpoint) or len(vectors[0])
        wrong = next((len(one) for one in vectors if len(one) != expected), None)
        if wrong is not None:
            _dimensions.pop(self._endpoint, None)  # unknown which was right: the next request sets it
            raise self._problem(f"gave a vector of {wrong} numbers where {expected} were expected")
        rows = usable(np.array(vectors), shown(self.base_url))
        _dimensions[self._endpoint] = expected
        return rows

    def _problem(self, what: str) -> ModelProblem:
        return ModelProblem(f"{shown(self.base_url)} {what}", _WRONG)


_WRONG = "check that the endpoint implements OpenAI's /embeddings, and that the model is right"
