"""Bedrock embedder: Titan and Cohere models of Amazon Bedrock by InvokeModel, with boto3 (the extra `bedrock`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.common.addresses import check_address
from watersmeet.common.bedrock import Connection
from watersmeet.common.json_values import object_of
from watersmeet.core.errors import ConfigError
from watersmeet.core.options import option
from watersmeet.embed._common import fingerprint
from watersmeet.embed._remote import Remote

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix

_FAMILIES = ("titan", "cohere")
_COHERE_BATCH = 96
_COHERE_V3_CHARACTERS = 2048
"""The service refuses more: texts in a request, and characters of a text for Cohere's Embed 3."""
_TITAN_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True)
class Bedrock(Remote):
    """A model of Amazon Bedrock. Credentials come from the environment or the AWS configuration."""

    setting: ClassVar[str] = "embed.bedrock"

    model: str = option("amazon.titan-embed-text-v2:0", "id or ARN of a model or inference profile", outside=True)
    family: str = option(
        "", "titan or cohere: how the model is asked; empty: by its id. An ARN of a profile needs it", outside=True
    )
    region: str = option("", "AWS region; empty: as the AWS configuration says", outside=True)
    profile: str = option("", "profile of the AWS configuration; empty: the default", outside=True)
    endpoint_url: str = option("", "URL of the service; empty: that of the region", outside=True)
    parallel: int = option(8, "requests at the same time; Titan takes one text in each", outside=True, least=1)

    def __post_init__(self) -> None:
        if self.endpoint_url:
            check_address("endpoint_url", self.endpoint_url)
        if self._family not in _FAMILIES:
            wrong = f"{self.setting}.family cannot be {self.family!r}"
            unknown = f"{self.model} is neither a Titan nor a Cohere model by its name"
            hint = f"set {self.setting}.family to {' or '.join(_FAMILIES)}, or name another model"
            raise ConfigError(wrong if self.family else unknown, hint)

    @property
    def _family(self) -> str:
        return self.family or next((name for name in _FAMILIES if name in self.model.lower()), "")

    @property
    def identity(self) -> tuple[str, ...]:
        return "bedrock", self.endpoint_url or self.region, self.model

    @property
    def fingerprint(self) -> str:
        """The model and what changes its vectors; not the region, which has the same models."""
        return fingerprint([], {"bedrock": [self.model, self.dimensions, self.query_prefix, self.text_prefix]})

    def _request(self, texts: list[str], query: bool, tries: int) -> Matrix:
        given = (self.model, self.region, self.profile, self.endpoint_url, self.timeout, tries - 1)
        with Connection(self.setting, *given) as connection:
            ask = self._titan if self._family == "titan" else self._cohere
            return self._checked(ask(connection.client(), texts, query), len(texts))

    def _titan(self, client: Any, texts: Sequence[str], query: bool) -> list[list[float]]:
        """Titan takes one text in a request."""
        v2: dict[str, Any] = {"normalize": True} if "embed-text-v1" not in self.model else {}
        if self.dimensions:
            v2["dimensions"] = self.dimensions

        def one(text: str) -> list[float]:
            body = {"inputText": text[:_TITAN_CHARACTERS], **v2}
            return self._numbers(self._invoke(client, body, [text], query).get("embedding"))

        if len(texts) == 1:
            return [one(texts[0])]
        with ThreadPoolExecutor(min(self.parallel, len(texts)), "embed") as pool:
            try:
                return list(pool.map(one, texts))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _cohere(self, client: Any, texts: Sequence[str], query: bool) -> list[list[float]]:
        v3 = "embed-english-v3" in self.model or "embed-multilingual-v3" in self.model
        body: dict[str, Any] = {
            "input_type": "search_query" if query else "search_document",
            "embedding_types": ["float"],
            "truncate": "END" if v3 else "RIGHT",
        }
        if self.dimensions and not v3:
            body["output_dimension"] = self.dimensions
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _COHERE_BATCH):
            some = [text[:_COHERE_V3_CHARACTERS] if v3 else text for text in texts[start : start + _COHERE_BATCH]]
            found = self._invoke(client, {"texts": some, **body}, some, query).get("embeddings")
            found = found.get("float") if isinstance(found, dict) else found  # a plain list if no types are requested
            if not isinstance(found, list):
                raise self._wrong("gave an answer without embeddings")
            vectors += [self._numbers(one) for one in found]
        return vectors

    def _invoke(self, client: Any, body: dict[str, Any], texts: Sequence[str], query: bool) -> dict[str, Any]:
        """The JSON object of one answer."""
        self._pace(texts, query)
        answer = client.invoke_model(
            modelId=self.model,
            body=json.dumps(body).encode(),
            contentType="application/json",
            accept="application/json",
        )
        try:
            return object_of(json.loads(answer["body"].read()))
        except (ValueError, RecursionError) as error:
            raise self._wrong("gave an answer that is not JSON") from error

    def _numbers(self, found: Any) -> list[float]:
        try:
            return [float(number) for number in found]
        except (ValueError, TypeError, OverflowError) as error:
            raise self._wrong("gave an answer without embeddings") from error

    @property
    def _who(self) -> str:
        return f"Bedrock ({self.model})"
