"""Bedrock chat: models of Amazon Bedrock by Converse, with boto3 (the extra `bedrock`)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from watersmeet.chat._common import turns, usable
from watersmeet.common.addresses import check_address
from watersmeet.common.bedrock import LATER, Connection
from watersmeet.common.json_values import object_of, text_of
from watersmeet.core.chat import Message
from watersmeet.core.errors import ModelProblem
from watersmeet.core.options import option

_WITHHELD = frozenset({"guardrail_intervened", "content_filtered"})


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
        given = (self.model, self.region, self.profile, self.endpoint_url, self.timeout, self.retries)
        with Connection("chat.bedrock", *given) as connection:
            yield from self._texts(connection.client().converse_stream(**request)["stream"])

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
