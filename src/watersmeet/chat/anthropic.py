"""Anthropic chat: the messages API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from watersmeet.chat._common import Endpoint, http_client, turns, usable
from watersmeet.common.addresses import check_address
from watersmeet.common.json_values import object_of, text_of
from watersmeet.core.chat import Message
from watersmeet.core.options import option, secret_key

_API_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Anthropic:
    """A chat model of Anthropic."""

    base_url: str = option("https://api.anthropic.com", "URL in front of `/v1/messages`", outside=True)
    model: str = option("claude-haiku-4-5", "the model's name", outside=True)
    api_key_env: str = option("ANTHROPIC_API_KEY", "the environment variable that holds the key", outside=True)
    temperature: float = option(0.0, "randomness of the reply, from 0 to 1; negative: the endpoint's default")
    timeout: float = option(60.0, "seconds to wait for the next part of the reply", outside=True)
    deadline: float = option(300.0, "seconds for the whole reply", outside=True)
    retries: int = option(2, "how often a request is tried again before a reply begins", outside=True)
    backoff: float = option(0.5, "seconds before the first retry; doubled for each further one", outside=True)
    api_key: str = secret_key()

    def __post_init__(self) -> None:
        check_address("base_url", self.base_url)

    @property
    def name(self) -> str:
        return self.model

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
        system, conversation = turns(usable(messages))
        sent = [{"role": message.role, "content": message.text} for message in conversation]
        body: dict[str, Any] = {"model": self.model, "messages": sent, "stream": True, "max_tokens": max_tokens}
        if system:
            body["system"] = system
        if self.temperature >= 0:
            body["temperature"] = self.temperature
        endpoint = self._endpoint()
        finish = ""
        for event in endpoint.replies(body):
            delta = object_of(event.get("delta"))
            if event.get("type") == "content_block_delta" and (text := text_of(delta.get("text"))):
                yield text
            finish = text_of(delta.get("stop_reason")) or finish
            if event.get("type") == "message_stop":
                break
        if finish == "refusal":
            raise endpoint.withheld(finish)
        if not finish:
            raise endpoint.cut_off()

    def _endpoint(self) -> Endpoint:
        client = http_client(self.timeout, self.deadline, self.retries, self.backoff)
        headers = {"x-api-key": self.api_key, "anthropic-version": _API_VERSION}
        url = self.base_url.rstrip("/") + "/v1/messages"
        return Endpoint(url, self.model, "chat.anthropic", self.api_key_env, client, headers)
