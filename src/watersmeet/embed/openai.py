"""OpenAI embedder: any HTTP endpoint with OpenAI's `/embeddings`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.options import option
from watersmeet.embed._common import fingerprint
from watersmeet.embed._remote import HttpRemote

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix


@dataclass(frozen=True, slots=True)
class OpenAI(HttpRemote):
    """A model behind OpenAI's API: of OpenAI itself, or of another server."""

    setting: ClassVar[str] = "embed.openai"

    model: str = option("text-embedding-3-small", "the model's name at that endpoint", outside=True)
    base_url: str = option("https://api.openai.com/v1", "URL in front of `/embeddings`", outside=True)
    api_key_env: str = option("OPENAI_API_KEY", "the environment variable that holds the key", outside=True)

    @property
    def fingerprint(self) -> str:
        settings = [*self.identity, self.dimensions, self.query_prefix, self.text_prefix]
        return fingerprint([], {"openai": settings})

    def _request(self, texts: list[str], query: bool, tries: int) -> Matrix:
        body: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimensions:
            body["dimensions"] = self.dimensions
        answer = self._post("/embeddings", body, texts, query, tries)
        try:
            data = answer["data"]
            by_place = {int(one.get("index", n)): [float(x) for x in one["embedding"]] for n, one in enumerate(data)}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._wrong("gave an answer that is not a list of embeddings") from error
        if sorted(by_place) != list(range(len(data))):
            raise self._wrong(f"gave {len(data)} vectors for {len(texts)} texts, not one for each")
        return self._checked([by_place[place] for place in range(len(data))], len(texts))
