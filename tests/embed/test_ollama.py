"""Ollama's `/api/embed`, against a server that checks each request."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from embedding_servers import ollama
from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.core.vectors import Embedder
from watersmeet.embed import _remote
from watersmeet.embed.ollama import Ollama
from watersmeet.testing.contracts.embedder import EmbedderContract
from web import Site, Step, answer, running


@pytest.fixture
def site() -> Iterator[Site]:
    _remote.dimensions.clear()
    with running(Site()) as made:
        made.always = ollama()
        yield made


def model(site: Site, **options: Any) -> Ollama:
    return Ollama(**{"base_url": site.url, "backoff": 0.001, **options})


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self, site: Site) -> Embedder:
        return model(site)


def test_one_request_for_each_batch(site: Site) -> None:
    one = model(site, batch=2, query_prefix="query: ", text_prefix="text: ", keep_alive="30m")
    vectors = one.embed(["a tern", " ", "a gull", "a key"])
    assert [json.loads(body) for body in site.bodies] == [
        {"model": "bge-m3", "input": texts, "truncate": True, "keep_alive": "30m"}
        for texts in (["text: a tern", "text: a gull"], ["text: a key"])
    ]
    assert vectors.shape == (4, 64)
    assert not vectors[1].any()
    assert np.linalg.norm(vectors[[0, 2, 3]], axis=1) == pytest.approx(1.0)
    one.embed_query("tern")
    assert json.loads(site.bodies[-1])["input"] == ["query: tern"]


def test_a_requested_length_is_sent_and_kept_to(site: Site) -> None:
    assert model(site, dimensions=32).embed(["a tern"]).shape == (1, 32)
    site.always = ollama(dimension=16)
    site.script = [answer(b'{"embeddings": [[1.0, 2.0]]}')]
    with pytest.raises(ModelProblem, match="2 numbers where 32 were expected") as caught:
        model(site, dimensions=32).embed(["a tern"])
    assert "dimensions" in caught.value.hint


@pytest.mark.parametrize(
    ("step", "options", "kind", "message", "hint"),
    [
        (ollama(), {"model": "no-such"}, ModelMissing, "not found, try pulling", "ollama pull no-such"),
        (ollama(key="k1234567"), {}, ModelProblem, "401", "set OLLAMA_API_KEY to a key: it is not set"),
        (ollama(key="k1234567"), {"api_key": "k7654321"}, ModelProblem, "401", "OLLAMA_API_KEY to a valid key"),
        (answer(b'{"error": "busy"}', 429), {}, ModelProblem, "busy", "requests_per_minute"),
        (answer(b'{"error": "this model does not support embeddings"}', 400), {}, ModelProblem, "support", "model"),
        (answer(b"<html>"), {}, ModelProblem, "not JSON", "embed.ollama"),
        (answer(b'{"embeddings": [[1.0], [2.0]]}'), {}, ModelProblem, "2 vectors for 1 texts", "embed.ollama"),
        (answer(b'{"embeddings": [null]}'), {}, ModelProblem, "without embeddings", "embed.ollama"),
        (answer(b'{"embeddings": {}}'), {}, ModelProblem, "0 vectors for 1 texts", "embed.ollama"),
        (answer(b'{"embeddings": [[]]}'), {}, ModelProblem, "no usable vector", "model"),
        (answer(b'{"embeddings": [[1%s]]}' % (b"0" * 400)), {}, ModelProblem, "without embeddings", "embed.ollama"),
    ],
)
def test_failures(
    site: Site, step: Step, options: dict[str, Any], kind: type[ModelProblem], message: str, hint: str
) -> None:
    site.always = step
    one = model(site, retries=1, **options)
    with pytest.raises(ModelProblem, match=message) as caught:
        one.embed(["a tern"])
    assert type(caught.value) is kind
    assert hint in caught.value.hint
    assert "k7654321" not in f"{caught.value} {caught.value.hint} {one!r}"


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ModelProblem, match="cannot be reached") as caught:
            Ollama(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}").embed(["a"])
    assert "ollama serve" in caught.value.hint
    with pytest.raises(ConfigError, match="is not a web address"):
        Ollama(base_url="ollama.local")


def test_the_same_model_elsewhere_has_the_same_fingerprint() -> None:
    assert Ollama().fingerprint == Ollama(base_url="http://box:11434", model="bge-m3:latest", batch=3).fingerprint
    assert (
        len({Ollama(**one).fingerprint for one in ({}, {"model": "x"}, {"dimensions": 8}, {"text_prefix": "a"})}) == 4
    )


class Clock:
    """A clock that only moves while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


@pytest.mark.parametrize(
    ("requests", "tokens", "naps"),
    [
        (0, 0, []),
        (2, 0, [60.0, 60.0]),
        (0, 100, [60.0, 60.0]),  # 40, 40 | 40, 40 | 40
        (0, 10, [60.0] * 4),  # larger than the limit: each alone
        (100, 1000, []),
    ],
)
def test_requests_keep_to_the_limits(requests: int, tokens: int, naps: list[float]) -> None:
    clock = Clock()
    pace = _remote.Pace(lambda: clock.now, clock.sleep)
    for _ in range(5):
        pace.take(40, requests, tokens)
    assert clock.naps == naps


def test_a_query_counts_and_does_not_wait() -> None:
    clock = Clock()
    pace = _remote.Pace(lambda: clock.now, clock.sleep)
    for _ in range(3):
        pace.take(1, 1, 0, waits=False)
    assert not clock.naps
    pace.take(1, 1, 0)
    assert clock.naps == [60.0]


def test_the_settings_reach_the_pace(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    pace = _remote.Pace(lambda: clock.now, clock.sleep)
    monkeypatch.setattr(_remote, "pace_of", lambda _: pace)
    model(site, batch=1, requests_per_minute=2).embed(["a", "b", "c"])
    assert clock.naps == [60.0]
