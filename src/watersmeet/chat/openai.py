"""OpenAI chat: any HTTP endpoint with OpenAI's `/chat/completions`, such as Ollama, llama.cpp, vLLM or LM Studio."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from watersmeet.chat._common import Endpoint, http_client, usable
from watersmeet.common.addresses import check_address
from watersmeet.common.json_values import first_of, object_of, text_of
from watersmeet.core.chat import Message
from watersmeet.core.options import option, secret_key

_OWN_HOST = "api.openai.com"


@dataclass(frozen=True, slots=True)
class OpenAI:
    """A chat model behind OpenAI's API: of OpenAI itself, or of a server on this machine."""

    base_url: str = option("https://api.openai.com/v1", "URL in front of `/chat/completions`", outside=True)
    model: str = option("gpt-4o-mini", "the model's name at that endpoint", outside=True)
    api_key_env: str = option("OPENAI_API_KEY", "the environment variable that holds the key", outside=True)
    temperature: float = option(0.0, "randomness of the reply; negative: the endpoint's default")
    limit_field: str = option(
        "",
        "the request's field for the maximum length of the reply; empty: `max_completion_tokens` at api.openai.com, "
        "`max_tokens` elsewhere",
    )
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
        sent = [{"role": message.role, "content": message.text} for message in usable(messages)]
        body: dict[str, Any] = {"model": self.model, "messages": sent, "stream": True, self._limit: max_tokens}
        if self.temperature >= 0:
            body["temperature"] = self.temperature
        endpoint = self._endpoint()
        finish = ""
        for reply in endpoint.replies(body):
            choice = first_of(reply.get("choices"))
            if text := text_of(object_of(choice.get("delta") or choice.get("message")).get("content")):
                yield text
            finish = text_of(choice.get("finish_reason")) or finish
        if finish == "content_filter":
            raise endpoint.withheld(finish)
        if not finish:
            raise endpoint.cut_off()

    @property
    def _limit(self) -> str:
        own = urlsplit(self.base_url).hostname == _OWN_HOST
        return self.limit_field or ("max_completion_tokens" if own else "max_tokens")

    def _endpoint(self) -> Endpoint:
        client = http_client(self.timeout, self.deadline, self.retries, self.backoff)
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        url = self.base_url.rstrip("/") + "/chat/completions"
        return Endpoint(url, self.model, "chat.openai", self.api_key_env, client, headers)
