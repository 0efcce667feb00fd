"""A real HTTP server on a real socket that misbehaves on request."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.embed import _remote
from watersmeet.embed.openai import OpenAI

Answer = tuple[int, dict[str, str], bytes]


def vector(text: str, width: int = 4) -> list[float]:
    return [float(len(text) + 1), *([1.0] * (width - 1))]


def good(asked: dict[str, Any], width: int = 4) -> Answer:
    data = [{"index": n, "embedding": vector(text, width)} for n, text in enumerate(asked["input"])]
    return 200, {}, json.dumps({"data": data[::-1]}).encode()  # the order is not promised


class Endpoint:
    """Answers with `script` in turn, then well; remembers what it was asked."""

    def __init__(self) -> None:
        self.script: list[Callable[[dict[str, Any]], Answer]] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append(asked)
                endpoint.headers.append(dict(self.headers))
                endpoint.times.append(time.monotonic())
                step = endpoint.script.pop(0) if endpoint.script else good
                status, headers, body = step(asked) if self.path == "/v1/embeddings" else (404, {}, b"no such path")
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    _remote.dimensions.clear()
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def embedder(endpoint: Endpoint, **options: Any) -> OpenAI:
    return OpenAI(**{"base_url": endpoint.url, "model": "tiny", "backoff": 0.001, "timeout": 5.0, **options})


def fail(status: int, headers: dict[str, str] | None = None) -> Callable[[dict[str, Any]], Answer]:
    return lambda asked: (status, headers or {}, b'{"error": {"message": "no"}}')


def test_vectors_come_back_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    texts = ["a", "", "bbb", "  ", "cc"]
    got = embedder(endpoint, batch=2).embed(texts)
    assert [len(one["input"]) for one in endpoint.asked] == [2, 1]
    assert not got[1].any()
    assert not got[3].any()
    for place in (0, 2, 4):
        want = np.array(vector(texts[place]))
        assert got[place] == pytest.approx(want / np.linalg.norm(want), abs=1e-6)


def test_a_server_error_is_tried_again(endpoint: Endpoint) -> None:
    endpoint.script = [fail(500), fail(503)]
    assert embedder(endpoint).embed(["a"]).shape == (1, 4)
    assert len(endpoint.asked) == 3


@pytest.mark.slow
def test_retry_after_is_honoured(endpoint: Endpoint) -> None:
    endpoint.script = [fail(429, {"Retry-After": "0.3"})]
    embedder(endpoint).embed(["a"])
    assert endpoint.times[1] - endpoint.times[0] >= 0.3


@pytest.mark.slow
def test_the_wait_doubles(endpoint: Endpoint) -> None:
    endpoint.script = [fail(429)] * 3
    embedder(endpoint, backoff=0.1).embed(["a"])
    waits = np.diff(endpoint.times)
    assert waits[0] >= 0.05
    assert waits[1] >= 0.1
    assert waits[2] >= 0.2


def test_giving_up_says_why(endpoint: Endpoint) -> None:
    endpoint.script = [fail(429)] * 9
    with pytest.raises(ModelProblem, match="429") as caught:
        embedder(endpoint, retries=2).embed(["a"])
    assert len(endpoint.asked) == 3
    assert caught.value.hint


def test_a_query_is_tried_twice_at_most(endpoint: Endpoint) -> None:
    endpoint.script = [fail(500)] * 9
    with pytest.raises(ModelProblem):
        embedder(endpoint, retries=5).embed_query("a")
    assert len(endpoint.asked) == 2


def test_a_wrong_key_is_not_tried_again_and_never_shown(endpoint: Endpoint) -> None:
    endpoint.script = [lambda asked: (401, {}, b"bad key sk-secret")]
    one = embedder(endpoint, api_key="sk-secret", api_key_env="MY_KEY")
    with pytest.raises(ModelProblem) as caught:
        one.embed(["a"])
    assert len(endpoint.asked) == 1
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "MY_KEY" in caught.value.hint
    assert "sk-secret" not in f"{one!r} {caught.value} {caught.value.hint}"


def test_a_refusal_that_echoes_the_key_is_masked(endpoint: Endpoint) -> None:
    endpoint.script = [lambda asked: (400, {}, b"you sent sk-secret")]
    with pytest.raises(ModelProblem, match=r"you sent \*\*\*"):
        embedder(endpoint, api_key="sk-secret").embed(["a"])


def test_another_dimension_in_a_later_batch_is_an_error(endpoint: Endpoint) -> None:
    endpoint.script = [good, lambda asked: good(asked, 5)]
    with pytest.raises(ModelProblem, match="5 numbers where 4"):
        embedder(endpoint, batch=1).embed(["a", "b"])


def test_a_dimension_that_was_not_asked_for_is_an_error(endpoint: Endpoint) -> None:
    with pytest.raises(ModelProblem, match="4 numbers where 8"):
        embedder(endpoint, dimensions=8).embed(["a"])
    assert endpoint.asked[0]["dimensions"] == 8


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"{}",
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 0, "embedding": "x"}]}',
        b"\xff",
    ],
)
def test_a_strange_answer_is_an_error(endpoint: Endpoint, body: bytes) -> None:
    endpoint.script = [lambda asked: (200, {}, body)]
    with pytest.raises(ModelProblem):
        embedder(endpoint).embed(["a"])


@pytest.mark.parametrize("odd", ["[NaN, 1.0]", "[Infinity, 1.0]", "[1e300, 1.0]", "[0.0, 0.0]", "[]"])
def test_a_vector_that_points_nowhere_is_an_error_and_teaches_nothing(endpoint: Endpoint, odd: str) -> None:
    endpoint.script = [lambda asked: (200, {}, b'{"data": [{"index": 0, "embedding": %b}]}' % odd.encode())] * 2
    with pytest.raises(ModelProblem, match="no usable vector") as caught:
        embedder(endpoint).embed(["a"])
    assert caught.value.hint
    with pytest.raises(ModelProblem, match="no usable vector"):
        embedder(endpoint).embed_query("a")
    assert embedder(endpoint).embed(["a", ""]).shape == (2, 4)


def test_too_few_vectors_are_an_error(endpoint: Endpoint) -> None:
    endpoint.script = [lambda asked: good({"input": asked["input"][:1]})]
    with pytest.raises(ModelProblem, match="1 vectors for 2 texts"):
        embedder(endpoint).embed(["a", "b"])


@pytest.mark.slow
def test_a_slow_answer_is_tried_again(endpoint: Endpoint) -> None:
    def slow(asked: dict[str, Any]) -> Answer:
        time.sleep(1.5)
        return good(asked)

    endpoint.script = [slow]
    assert embedder(endpoint, timeout=0.6).embed(["a"]).shape == (1, 4)
    assert len(endpoint.asked) == 2
    endpoint.script = [slow] * 2
    with pytest.raises(ModelProblem, match="within"):
        embedder(endpoint, timeout=0.6, retries=1).embed(["a"])


def test_all_tries_together_have_a_deadline(endpoint: Endpoint) -> None:
    endpoint.script = [fail(429, {"Retry-After": "3600"})]
    with pytest.raises(ModelProblem, match="429"):
        embedder(endpoint, deadline=5.0).embed(["a"])
    assert len(endpoint.asked) == 1


def test_a_proxy_of_the_environment_is_not_asked(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert embedder(endpoint).embed(["a"]).shape == (1, 4)


def test_a_password_in_the_address_is_sent_and_never_shown(endpoint: Endpoint) -> None:
    endpoint.script = [good, fail(400), lambda asked: (200, {}, b"{}")]
    one = embedder(endpoint, base_url=endpoint.url.replace("http://", "http://me:hunter22@"))
    assert one.embed(["a"]).shape == (1, 4)
    assert endpoint.headers[0]["Authorization"] == "Basic bWU6aHVudGVyMjI="
    for _ in range(2):
        with pytest.raises(ModelProblem, match=r"http://\*\*\*@127") as caught:
            one.embed(["a"])
        assert "hunter22" not in f"{caught.value} {caught.value.hint}"


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelProblem, match="cannot be reached"):
            OpenAI(base_url=url, retries=9, backoff=9).embed(["a"])


def test_no_such_path(endpoint: Endpoint) -> None:
    with pytest.raises(ModelMissing, match="404"):
        embedder(endpoint, base_url=endpoint.url + "/x").embed(["a"])


def test_an_address_that_is_none() -> None:
    with pytest.raises(ConfigError):
        OpenAI(base_url="file:///etc/passwd")


def test_the_dimension_is_found_by_asking_once(endpoint: Endpoint) -> None:
    one = embedder(endpoint)
    assert (one.dimension, one.dimension) == (4, 4)
    assert len(endpoint.asked) == 1


def test_fingerprints_tell_models_apart_and_ignore_the_key() -> None:
    plain = OpenAI(base_url="http://a/v1")
    assert plain.fingerprint == OpenAI(base_url="http://a/v1/", api_key="k", batch=3).fingerprint
    others = [OpenAI(base_url="http://b/v1"), OpenAI(base_url="http://a/v1", model="m")]
    assert plain.fingerprint not in [one.fingerprint for one in others]


def test_the_stream_tells_where_it_is(endpoint: Endpoint) -> None:
    got = list(embedder(endpoint).embed_stream(["a", "b", "c"], 2))
    assert [(start, len(vectors)) for start, vectors in got] == [(0, 2), (2, 1)]
    got = list(embedder(endpoint, batch=1).embed_stream(["a", "b"], 2))
    assert [(start, len(vectors)) for start, vectors in got] == [(0, 1), (1, 1)]
