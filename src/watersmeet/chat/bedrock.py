"""Bedrock chat: models of Amazon Bedrock by Converse, with boto3 (the extra `bedrock`).

boto3 signs the requests, reads the credentials where AWS users keep them, and decodes the event stream. It is the one
exception to the rule that all requests go through `common/http.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from watersmeet.chat._common import LATER, check_address, object_of, text_of, turns, usable
from watersmeet.common.redaction import excerpt
from watersmeet.core.chat import Message
from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.core.options import option

_KEY_CODES = frozenset(
    "AccessDeniedException UnrecognizedClientException InvalidSignatureException ExpiredTokenException "
    "InvalidClientTokenId MissingAuthenticationToken".split()
)
_MODEL_CODES = frozenset({"ResourceNotFoundException", "ValidationException"})
_BUSY_CODES = frozenset({"ThrottlingException", "ServiceQuotaExceededException", "TooManyRequestsException"})
_WITHHELD = frozenset({"guardrail_intervened", "content_filtered"})
_CREDENTIALS = "give AWS credentials: environment variables, `aws configure`, or chat.bedrock.profile"


@dataclass(frozen=True, slots=True)
class Bedrock:
    """A chat model of Amazon Bedrock. Credentials come from the environment or the AWS configuration."""

    model: str = option("amazon.nova-lite-v1:0", "id or ARN of a model or inference profile", outside=True)
    region: str = option("", "AWS region; empty: as the AWS configuration says", outside=True)
    profile: str = option("", "profile of the AWS configuration; empty: the default", outside=True)
    endpoint_url: str = option("", "URL of the service; empty: that of the region", outside=True)
    temperature: float = option(0.0, "randomness of the reply, from 0 to 1; negative: the model's default")
    timeout: float = option(60.0, "seconds to wait for the next part of the reply", outside=True)
    deadline: float = option(300.0, "seconds for the whole reply; checked when a part of it arrives", outside=True)
    retries: int = option(2, "how often a request is tried again before a reply begins", outside=True)

    def __post_init__(self) -> None:
        if self.endpoint_url:
            check_address("endpoint_url", self.endpoint_url)

    @property
    def name(self) -> str:
        return self.model

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
        system, conversation = turns(usable(messages))
        inference: dict[str, Any] = {"maxTokens": max_tokens}
        if self.temperature >= 0:
            inference["temperature"] = self.temperature
        request: dict[str, Any] = {
            "modelId": self.model,
            "messages": [{"role": message.role, "content": [{"text": message.text}]} for message in conversation],
            "inferenceConfig": inference,
        }
        if system:
            request["system"] = [{"text": system}]
        with _Errors(self) as errors:
            given = (self.region, self.profile, self.endpoint_url, self.timeout, self.retries)
            client, credentials = client_of(*given)
            errors.secrets = _secrets(credentials)
            yield from self._texts(client.converse_stream(**request)["stream"])

    def _texts(self, events: Any) -> Iterator[str]:
        end, finish = time.monotonic() + self.deadline, ""
        with closing(events):
            for event in events:
                if time.monotonic() > end:
                    raise ModelProblem(f"Bedrock did not finish within {self.deadline:.3g} s", LATER)
                delta = object_of(object_of(event.get("contentBlockDelta")).get("delta"))
                if text := text_of(delta.get("text")):
                    yield text
                finish = text_of(object_of(event.get("messageStop")).get("stopReason")) or finish
        if finish in _WITHHELD:
            raise ModelProblem(
                f"Bedrock withheld the reply ({finish})", "ask in other words, or use another model or guardrail"
            )
        if not finish:
            raise ModelProblem("Bedrock ended the reply before it was complete", LATER)


@lru_cache(maxsize=4)
def client_of(region: str, profile: str, endpoint_url: str, timeout: float, retries: int) -> tuple[Any, Any]:
    """Client of Bedrock, which threads may share, and its credentials; boto3 takes half a second to make one."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise ModelMissing(
            "Bedrock needs boto3, which is not installed", "pip install 'watersmeet[bedrock]'"
        ) from error
    limits = Config(
        connect_timeout=timeout,
        read_timeout=timeout,
        retries={"total_max_attempts": retries + 1, "mode": "standard"},
    )
    session = boto3.Session(profile_name=profile or None, region_name=region or None)
    client = session.client("bedrock-runtime", endpoint_url=endpoint_url or None, config=limits)
    return client, session.get_credentials()


def _secrets(credentials: Any) -> frozenset[str]:
    """Credentials, which a message must not show."""
    if credentials is None:
        return frozenset()
    frozen = credentials.get_frozen_credentials()
    return frozenset({frozen.access_key or "", frozen.secret_key or "", frozen.token or ""}) - {""}


class _Errors:
    """Context in which errors of boto3 become `ModelProblem`."""

    def __init__(self, settings: Bedrock) -> None:
        self._settings = settings
        self.secrets: frozenset[str] = frozenset()

    def __enter__(self) -> _Errors:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, ModelProblem):
            return
        import urllib3.exceptions
        from botocore import exceptions
        from botocore.eventstream import ParserError

        if isinstance(error, exceptions.ClientError):
            raise self._refused(error.response) from error
        if isinstance(error, exceptions.NoRegionError):
            raise ModelProblem("Bedrock needs a region", "set chat.bedrock.region or AWS_REGION") from error
        missing = (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.ProfileNotFound)
        if isinstance(error, missing):
            raise ModelProblem(f"Bedrock: {error}", _CREDENTIALS) from error
        if isinstance(error, exceptions.BotoCoreError | ParserError | urllib3.exceptions.HTTPError):
            raise ModelProblem(f"Bedrock: {excerpt(str(error), self.secrets)}", LATER) from error

    def _refused(self, response: dict[str, Any]) -> ModelProblem:
        error = object_of(response.get("Error"))
        code = text_of(error.get("Code"))
        said = f"Bedrock refused: {code}: {excerpt(text_of(error.get('Message')), self.secrets)}"
        if code in _KEY_CODES:
            return ModelProblem(said, f"{_CREDENTIALS}, and access to the model")
        if code in _BUSY_CODES:
            return ModelProblem(said, "too many requests, or the quota is used up: try again later")
        if code in _MODEL_CODES:
            kind = ModelMissing if code == "ResourceNotFoundException" else ModelProblem
            return kind(said, f"check chat.bedrock.model ({self._settings.model}) and region")
        return ModelProblem(said, LATER)
