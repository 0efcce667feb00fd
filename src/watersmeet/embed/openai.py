"""What does it mean, to a model behind an HTTP endpoint? Any server with OpenAI's `/embeddings`."""

from __future__ import annotations

import email.utils
import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.core.options import option
from watersmeet.embed._common import clean, fingerprint, in_slices, usable

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector

_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LONGEST_WAIT = 60.0
_known: dict[tuple[str, str], int] = {}


@dataclass(frozen=True, slots=True)
class OpenAI:
    remote: ClassVar[bool] = True
    quick: ClassVar[bool] = False

    base_url: str = option("https://api.openai.com/v1", "where `/embeddings` is asked for")
    model: str = option("text-embedding-3-small", "the model's name at that endpoint")
    api_key_env: str = option("OPENAI_API_KEY", "the environment variable that holds the key")
    batch: int = option(64, "texts in one request")
    dimensions: int = option(0, "ask for vectors of this length; 0: what the model gives")
    timeout: float = option(30.0, "seconds to wait for an answer")
    retries: int = option(5, "how often a request is tried again; a query at most once")
    backoff: float = option(0.5, "seconds before the first retry; doubled for each further one")
    query_prefix: str = option("", "what the model wants before a query")
    text_prefix: str = option("", "what the model wants before a text")
    api_key: str = field(default="", repr=False, metadata={"meaning": "the key itself", "secret": True})

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise ConfigError(f"base_url {self.base_url!r} is no web address", "it begins with http:// or https://")

    @property
    def name(self) -> str:
        return self.model

    @property
    def dimension(self) -> int:
        return self.dimensions or _known.get(self._place) or self._ask(["dimension"], tries=2).shape[1]

    @property
    def fingerprint(self) -> str:
        asked = [*self._place, self.dimensions, self.query_prefix, self.text_prefix]
        return fingerprint([], {"openai": asked})

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self.text_prefix, self.retries + 1)

    def embed_stream(self, texts: Sequence[str], batch: int = 64) -> Iterator[tuple[int, Matrix]]:
        """A request at a time at most: what one has brought need not be asked for again."""
        return in_slices(self.embed, texts, min(batch, max(self.batch, 1)))

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self._embed([text], self.query_prefix, min(self.retries, 1) + 1)[0]
        return vector

    @property
    def _place(self) -> tuple[str, str]:
        return self.base_url.rstrip("/"), self.model

    def _embed(self, texts: Sequence[str], prefix: str, tries: int) -> Matrix:
        import numpy as np

        places = [place for place, text in enumerate(texts) if text.strip()]
        found: list[tuple[list[int], Matrix]] = []
        for start in range(0, len(places), max(self.batch, 1)):
            some = places[start : start + max(self.batch, 1)]
            found.append((some, self._ask([prefix + clean(texts[p]) for p in some], tries)))
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for some, vectors in found:
            result[some] = vectors
        return result

    def _ask(self, texts: list[str], tries: int) -> Matrix:
        """The vectors of one request, tried again where that may help."""
        asked: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimensions:
            asked["dimensions"] = self.dimensions
        body = json.dumps(asked).encode()
        for number in range(tries):
            try:
                return self._checked(self._post(body), len(texts))
            except _Again as again:
                if number + 1 == tries:
                    raise self._problem(f"{again} ({tries} tries)", "is the endpoint up? try again later") from again
                time.sleep(self._pause(number, again.after))
        raise self._problem("was not asked", "retries must not be negative")

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "watersmeet"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        request = urllib.request.Request(self._place[0] + "/embeddings", body, headers)  # noqa: S310 - checked above
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310 - checked above
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error) from None
        except urllib.error.URLError as error:
            raise self._unreached(error.reason) from error
        except (OSError, http.client.HTTPException) as error:
            raise self._unreached(error) from error

    def _refused(self, error: urllib.error.HTTPError) -> Exception:
        try:
            said = error.read(2000).decode(errors="replace").strip()
        except (OSError, http.client.HTTPException):
            said = ""
        what = f"answered {error.code} {error.reason}"
        if error.code in _AGAIN:
            return _Again(what, _seconds(error.headers.get("Retry-After", "")))
        if error.code in (401, 403):
            return self._problem(what, f"set {self.api_key_env} to a valid key")
        hint = f"check base_url and model ({self.model})"
        return self._problem(f"{what}: {said[:300]}", hint, missing=error.code == 404)

    def _unreached(self, reason: object) -> Exception:
        if isinstance(reason, TimeoutError):
            return _Again(f"did not answer within {self.timeout:g} s")
        if isinstance(reason, ConnectionRefusedError) or not isinstance(
            reason, ConnectionError | http.client.HTTPException
        ):
            return self._problem(f"cannot be reached: {reason}", "check base_url and the network")
        return _Again(f"broke off: {reason}")

    def _checked(self, content: bytes, count: int) -> Matrix:
        """The vectors in the order of the texts, all of the length that this endpoint has given before."""
        import numpy as np

        try:
            data = json.loads(content)["data"]
            by_place = {int(one.get("index", n)): [float(x) for x in one["embedding"]] for n, one in enumerate(data)}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._problem("gave an answer that is no list of embeddings", _WRONG) from error
        if sorted(by_place) != list(range(count)) or len(data) != count:
            raise self._problem(f"gave {len(data)} vectors for {count} texts", _WRONG)
        vectors = [by_place[place] for place in range(count)]
        expected = self.dimensions or _known.get(self._place) or len(vectors[0])
        wrong = next((len(one) for one in vectors if len(one) != expected), None)
        if wrong is not None:
            _known.pop(self._place, None)  # which of them was right, whoever asks next finds out
            raise self._problem(f"gave a vector of {wrong} numbers where {expected} were expected", _WRONG)
        rows = usable(np.array(vectors), self._place[0])
        _known[self._place] = expected
        return rows

    def _pause(self, number: int, after: float | None) -> float:
        if after is not None:
            return min(after, _LONGEST_WAIT)
        jitter = 0.5 + random.random() / 2  # noqa: S311 - spreads retries, guards no secret
        return min(self.backoff * 2.0**number, _LONGEST_WAIT) * jitter

    def _problem(self, what: str, hint: str, missing: bool = False) -> ModelProblem:
        message = f"{self._place[0]} {what}"
        if self.api_key:
            message = message.replace(self.api_key, "***")
        return (ModelMissing if missing else ModelProblem)(message, hint)


_WRONG = "does the endpoint speak OpenAI's /embeddings, and is its model the one you mean?"


class _Again(Exception):
    """Worth another try, perhaps after so many seconds."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


def _seconds(stated: str) -> float | None:
    """`Retry-After`: a number of seconds, or a date."""
    try:
        return max(float(stated), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(stated).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
