"""Ollama embedder: a model of an Ollama server, by its own `/api/embed`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.options import option
from watersmeet.embed._common import fingerprint
from watersmeet.embed._remote import HttpRemote

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix


@dataclass(frozen=True, slots=True)
class Ollama(HttpRemote):
    """A model of an Ollama server, which must have it already: `ollama pull MODEL`."""

    setting: ClassVar[str] = "embed.ollama"

    model: str = option("bge-m3", "the model's name, as `ollama list` shows it", outside=True)
    base_url: str = option("http://127.0.0.1:11434", "URL of the server", outside=True)
    api_key_env: str = option(
        "OLLAMA_API_KEY", "the environment variable that holds the key, if the server wants one", outside=True
    )
    timeout: float = option(120.0, "seconds to wait for an answer; the server may load the model first", outside=True)
    keep_alive: str = option("", "how long the server keeps the model loaded, such as 30m; empty: as it likes")
    price_per_million_tokens: float | None = option(
        0.0, "price of a million tokens in US dollars, for the cost that a sync shows", outside=True, least=0
    )

    @property
    def fingerprint(self) -> str:
        """The model's name, and not the address: the same model may move to another machine."""
        name = self.model if ":" in self.model else f"{self.model}:latest"
        return fingerprint([], {"ollama": [name, self.dimensions, self.query_prefix, self.text_prefix]})

    def _request(self, texts: list[str], query: bool, tries: int) -> Matrix:
        body: dict[str, Any] = {"model": self.model, "input": texts, "truncate": True}
        if self.dimensions:
            body["dimensions"] = self.dimensions
        if self.keep_alive:
            body["keep_alive"] = self.keep_alive
        answer = self._post("/api/embed", body, texts, query, tries)
        try:
            vectors = [[float(number) for number in one] for one in answer["embeddings"]]
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise self._wrong("gave an answer without embeddings") from error
        return self._checked(vectors, len(texts))

    @property
    def _unreachable(self) -> str:
        return f"is Ollama running there? `ollama serve` starts it; {self.setting}.base_url is its address"

    @property
    def _missing(self) -> str:
        return f"`ollama pull {self.model}` on that machine, or check {self.setting}.model and base_url"
