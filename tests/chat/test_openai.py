"""OpenAI's API against a real server on a real socket that misbehaves on request."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from typing import Any

import pytest

from chat_replies import WORDS, event, openai, sent
from watersmeet.chat.openai import OpenAI
from watersmeet.core.chat import Chat
from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.engine.models import chat
from watersmeet.engine.settings.settings import load
from watersmeet.engine.settings.trust import filter_untrusted
from watersmeet.testing.contracts.chat import CONVERSATION, QUESTION, ChatContract
from web import Site, Step, answer, stream

KEY = "sk-very-secret"
LATE = 10.0
"""Seconds that no test comes near, unless a limit is evaded."""


def model(site: Site, **options: Any) -> OpenAI:
    given = {"base_url": f"{site.url}/v1", "model": "tiny", "backoff": 0.001, "timeout": 5.0, "api_key": KEY}
    return OpenAI(**{**given, **options})


def reply(site: Site, **options: Any) -> str:
    return "".join(model(site, **options).stream([QUESTION], 20))


def problem(site: Site, step: Step, **options: Any) -> ModelProblem:
    site.always = step
    with pytest.raises(ModelProblem) as caught:
        reply(site, **options)
    assert caught.value.hint
    assert KEY not in f"{caught.value} {caught.value.hint} {model(site)!r}"
    return caught.value


class TestContract(ChatContract):
    @pytest.fixture
    def chat(self, site: Site) -> Chat:
        site.always = sent(*openai(*WORDS))
        return model(site)

    @pytest.fixture
    def broken(self, site: Site) -> Chat:
        site.always = answer(b"busy", 503)
        return model(site, retries=0)


def test_what_is_sent_and_what_is_read(site: Site) -> None:
    site.always = sent(*openai(*WORDS))
    assert list(model(site).stream(CONVERSATION, 20)) == list(WORDS)
    assert site.paths == ["/v1/chat/completions"]
    assert site.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert json.loads(site.bodies[0]) == {
        "model": "tiny",
        "messages": [{"role": one.role, "content": one.text} for one in CONVERSATION],
        "stream": True,
        "max_tokens": 20,
        "temperature": 0.0,
    }


def test_options_of_the_request(site: Site) -> None:
    site.always = sent(*openai("x"))
    reply(site, api_key="", temperature=-1.0, limit_field="max_completion_tokens")
    assert "Authorization" not in site.headers[0]
    body = json.loads(site.bodies[0])
    assert "temperature" not in body
    assert (body["max_completion_tokens"], "max_tokens" in body) == (20, False)
    assert OpenAI()._limit == "max_completion_tokens"
    assert OpenAI(base_url="http://127.0.0.1:1/v1")._limit == "max_tokens"


def test_a_reply_that_is_cut_by_its_length_is_a_reply(site: Site) -> None:
    site.always = sent(*openai("Hello", finish="length"))
    assert reply(site) == "Hello"


def test_a_reply_in_one_piece_is_read_too(site: Site) -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}
    site.always = answer(json.dumps(whole).encode(), headers={"Content-Type": "application/json; charset=utf-8"})
    assert reply(site) == "Hello."


def test_characters_that_are_spread_over_chunks_stay_whole(site: Site) -> None:
    whole = b"".join(openai(*WORDS))
    site.always = sent(*(whole[at : at + 1] for at in range(len(whole))))
    assert reply(site) == "".join(WORDS)


def test_bytes_that_are_not_utf8_are_replaced(site: Site) -> None:
    parts = [part.replace(b"Hello", b"He\xfflo") for part in openai(*WORDS)]
    site.always = sent(*parts)
    assert reply(site).startswith("He\ufffdlo")


def test_unexpected_shapes_are_passed_over(site: Site) -> None:
    odd = [
        {},
        {"choices": None},
        {"choices": [7]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 7}}]},
    ]
    site.always = sent(*map(event, odd), *openai("Hello"))
    assert reply(site) == "Hello"


@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [
        (400, ModelProblem, r"\[chat.openai\] \(model tiny\)"),
        (401, ModelProblem, "OPENAI_API_KEY"),
        (403, ModelProblem, "OPENAI_API_KEY"),
        (404, ModelMissing, r"model \(tiny\)"),
        (429, ModelProblem, "quota"),
        (500, ModelProblem, "try again later"),
        (307, ModelProblem, "chat.openai"),
    ],
)
def test_a_refusal_says_what_to_do(site: Site, status: int, kind: type[ModelProblem], hint: str) -> None:
    body = json.dumps({"error": {"message": f"no, {KEY}"}}).encode()
    found = problem(site, answer(body, status, {"Location": "/"} if status == 307 else None), retries=1)
    assert type(found) is kind
    assert str(status) in str(found)
    assert re.search(hint, found.hint)
    assert len(site.paths) == (2 if status in (429, 500) else 1)


def test_a_busy_endpoint_is_tried_again_before_the_reply_begins(site: Site) -> None:
    site.script = [answer(b"", 503), answer(b"", 429)]
    site.always = sent(*openai("Hello"))
    assert reply(site) == "Hello"
    assert len(site.paths) == 3


@pytest.mark.parametrize(
    "step",
    [
        sent(*openai("Hello")[:-3], end=False),
        sent(*openai("Hello", finish=None)),
        sent(*openai("Hello", finish=None), end=False),
        sent(openai("Hello")[2][:-20]),
    ],
    ids=["cut", "no end", "no last chunk", "half an event"],
)
def test_a_reply_that_is_cut_is_an_error_and_not_repeated(site: Site, step: Step) -> None:
    problem(site, step)
    assert len(site.paths) == 1


def test_what_arrived_before_the_cut_was_given(site: Site) -> None:
    site.always = sent(*openai("Hello", " you", finish=None), end=False)
    pieces = model(site).stream([QUESTION], 20)
    assert [next(pieces), next(pieces)] == ["Hello", " you"]
    with pytest.raises(ModelProblem):
        next(pieces)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            answer(b'{"error": {"message": "no model sk-very-secret"}}', headers={"Content-Type": "application/json"}),
            "no model",
        ),
        (answer(b'{"error": "overloaded"}', headers={"Content-Type": "application/json"}), "overloaded"),
        (sent(event({"error": {"message": "out of memory"}})), "out of memory"),
        (answer(b"<html>login</html>", headers={"Content-Type": "text/html"}), "before it was complete"),
        (answer(b"not json", headers={"Content-Type": "application/json"}), "not a JSON object: not json"),
        (answer(b"[" * 100_000, headers={"Content-Type": "application/json"}), "not a JSON object"),
        (sent(event("[1]")), "not a JSON object"),
        (sent(b"data: " + b"x" * (3 << 20)), "too large"),
        (sent(*openai("Hello", finish="content_filter")), "withheld"),
        (answer(b""), "before it was complete"),
    ],
    ids=["error", "error text", "error event", "html", "text", "deep", "list", "giant line", "filter", "empty"],
)
def test_answers_that_are_no_reply(site: Site, step: Step, message: str) -> None:
    found = problem(site, step)
    assert message in str(found)
    assert len(str(found)) < 500


def test_no_more_is_read_than_a_reply_may_have(site: Site) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    found = problem(site, stream(head, event({"choices": [{"delta": {"content": "x" * 100_000}}]})))
    assert "more than" in str(found)


@pytest.mark.slow
def test_silence_and_a_drip_end_at_their_limits(site: Site) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    begin = time.monotonic()
    assert "sent nothing for 0.3 s" in str(problem(site, stream(head, b"", every=LATE), timeout=0.3, retries=0))
    found = problem(site, stream(head, b": drip\n\n", every=0.05), timeout=5.0, deadline=0.5)
    assert "did not finish within 0.5 s" in str(found)
    assert time.monotonic() - begin < LATE


def test_cancelling_closes_the_connection(site: Site) -> None:
    gone = threading.Event()

    def until_closed(handler: Any) -> None:
        sent(*openai("Hello", "you")[:4], end=False)(handler)
        handler.connection.settimeout(LATE)
        if handler.connection.recv(1) == b"":  # the client has closed it
            gone.set()

    site.always = until_closed
    pieces: Any = model(site).stream([QUESTION], 20)
    assert next(pieces) == "Hello"
    assert not gone.is_set()
    pieces.close()
    assert gone.wait(LATE)


def test_nobody_there_is_said_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = OpenAI(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1", backoff=60.0)
        with pytest.raises(ModelProblem, match="cannot be reached") as caught:
            list(nobody.stream([QUESTION], 20))
    assert "chat.openai.base_url" in caught.value.hint


def test_only_web_addresses() -> None:
    with pytest.raises(ConfigError, match="is not a web address"):
        OpenAI(base_url="file:///etc/passwd")


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_KEY", "another-key")
    assert chat(load(environ={}), "openai") == OpenAI(api_key=KEY)
    other = load(environ={}, flags={"chat": {"openai": {"api_key_env": "MY_KEY", "model": "tiny"}}})
    assert chat(other, "openai") == OpenAI(api_key="another-key", api_key_env="MY_KEY", model="tiny")


def test_a_folder_cannot_choose_an_endpoint() -> None:
    tables = {"chat": {"openai": {"base_url": "http://elsewhere.test/v1", "api_key_env": "HOME", "temperature": 1.0}}}
    allowed, ignored = filter_untrusted(tables)
    assert allowed == {}
    assert ignored.keys() == {"chat.openai.base_url", "chat.openai.api_key_env", "chat.openai.temperature"}


def test_texts_are_read_as_they_arrive(site: Site) -> None:
    """The first piece is given while the server still waits."""
    go = threading.Event()

    def step(handler: Any) -> None:
        sent(*openai("Hello", finish=None)[:3], end=False)(handler)
        go.wait(LATE)
        handler.wfile.write(b"0\r\n\r\n")

    site.always = step
    pieces = model(site, timeout=LATE).stream([QUESTION], 20)
    assert next(pieces) == "Hello"
    go.set()
