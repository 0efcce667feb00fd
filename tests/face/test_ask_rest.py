"""Answers over REST: JSON and events, conversations, OpenAI's form, and what stops a model."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from serving import Served, served
from watersmeet import Engine
from watersmeet.core.chat import Chat, Message
from watersmeet.core.errors import ModelProblem
from watersmeet.engine.ask import ask as asking
from watersmeet.engine.ask.model import Turn
from watersmeet.face.ask import MAX_CONVERSATIONS_PER_CALLER, Conversations
from watersmeet.face.tokens import Tokens
from watersmeet.testing import ScriptedChat

pytestmark = pytest.mark.slow

QUESTION = "how do I rotate keys?"
REPLY = "Keys are rotated every quarter [1]. Keys are rotated by a robot in Paris [1]."


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    engine.sync([vault])
    with served(engine) as made:
        yield made


def use(monkeypatch: pytest.MonkeyPatch, chat: Chat) -> None:
    monkeypatch.setattr(asking, "chat_model", lambda settings: chat)


def events(content: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in content.decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            data = fields["data"]
            found.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return found


def test_an_answer_as_json(site: Served) -> None:
    reply = site.ask("/api/chat", {"question": QUESTION})
    found = reply.json()
    assert reply.status == 200
    assert set(found) >= {
        "question", "answer", "citations", "supported", "model", "no_good_match", "confidence", "took_ms"
    }  # fmt: skip
    assert found["citations"][0]["document"] == "guides/keys.md"
    assert found["supported"]


def test_an_answer_as_events(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, ScriptedChat(always=REPLY))
    for sent, headers in (({"stream": True}, {}), ({}, {"Accept": "text/event-stream"})):
        reply = site.ask("/api/chat", {"question": QUESTION, **sent}, **headers)
        assert reply.headers["content-type"].startswith("text/event-stream")
        *texts, (last, answer) = events(reply.content)
        assert [name for name, _ in texts] == ["text"] * len(texts)
        assert len(texts) == 2
        assert last == "answer"
        assert "".join(data["text"] for _, data in texts) == answer["answer"]
        assert answer["answer"].endswith("Paris [1?].")
        assert not answer["supported"]


def test_a_refusal_is_an_answer_too(site: Served) -> None:
    found = site.ask("/api/chat", {"question": "which operas did Bizet compose?", "stream": True})
    assert events(found.content)[-1][1]["no_good_match"]


def test_a_conversation_has_a_memory_of_its_own(site: Served) -> None:
    def ask(question: str, conversation: str) -> Any:
        return site.ask("/api/chat", {"question": question, "conversation_id": conversation}).json()

    ask("How do I rotate keys?", "one")
    assert ask("when should I do that?", "one")["query"] == "when should I rotate keys?"
    assert ask("when should I do that?", "two")["query"] == "when should I do that?"
    assert ask("when should I do that?", "")["query"] == "when should I do that?"


def test_conversations_are_bounded_and_belong_to_their_caller() -> None:
    kept = Conversations()
    for n in range(20):
        kept.add("ann", "c", Turn(f"q{n}"))
    assert [turn.question for turn in kept.turns("ann", "c")] == [f"q{n}" for n in range(10, 20)]
    assert kept.turns("bob", "c") == ()
    for n in range(MAX_CONVERSATIONS_PER_CALLER):
        kept.add("ann", f"more {n}", Turn("q"))
    assert kept.turns("ann", "c") == ()
    assert kept.turns("ann", "more 0")


def test_a_conversation_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = Conversations(), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    kept.add("ann", "c", Turn("q"))
    now[0] = 3599
    assert kept.turns("ann", "c")
    now[0] = 3601
    assert not kept.turns("ann", "c")
    kept.add("bob", "d", Turn("q"))
    assert len(kept._turns) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": ""}, 422),
        ({"question": "x" * 600}, 422),
        ({"question": "keys", "more": 1}, 422),
        ({"question": "keys", "conversation_id": "a b"}, 422),
        ({"question": "   "}, 400),
        ({"question": QUESTION, "budget": 1}, 400),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_what_is_refused(site: Served, body: dict[str, Any], status: int, stream: bool) -> None:
    assert site.ask("/api/chat", {**body, "stream": stream}).status == status


def test_a_problem_of_the_model_before_and_inside_of_a_stream(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(messages: Sequence[Message]) -> str:
        return REPLY

    use(monkeypatch, ScriptedChat([ModelProblem("the model is asleep", "wake it")]))
    reply = site.ask("/api/chat", {"question": QUESTION, "stream": True})
    assert (reply.status, reply.json()["hint"]) == (503, "wake it")

    class Breaking:
        name = "breaking"

        def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
            yield "Keys are rotated every quarter [1]. And then"
            raise ModelProblem("the model fell asleep", "wake it")

    use(monkeypatch, Breaking())
    (_, text), (name, problem) = events(site.ask("/api/chat", {"question": QUESTION, "stream": True}).content)
    assert text["text"] == "Keys are rotated every quarter [1]."
    assert (name, problem["detail"], problem["hint"]) == ("error", "the model fell asleep", "wake it")


class Slow:
    """A model that goes on until it is closed."""

    name = "slow"

    def __init__(self) -> None:
        self.closed = threading.Event()

    def stream(self, messages: Sequence[Message], max_tokens: int) -> Iterator[str]:
        try:
            for _ in range(2000):
                yield "Keys are rotated every quarter [1]. "
                time.sleep(0.02)
        finally:
            self.closed.set()


@pytest.mark.parametrize("stream", [True, False])
def test_closing_the_connection_stops_the_model(site: Served, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    slow = Slow()
    use(monkeypatch, slow)
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    body = json.dumps({"question": QUESTION, "stream": stream})
    connection.request("POST", "/api/chat", body, {"Content-Type": "application/json"})
    if stream:
        assert connection.getresponse().read(20)
    else:
        time.sleep(0.5)
    assert connection.sock is not None or stream
    connection.close()
    assert slow.closed.wait(20)


def test_openai_clients_are_answered(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {
        "model": "gpt-4o", "temperature": 0.2, "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "How do I rotate keys?"},
            {"role": "assistant", "content": "With a command."},
            {"role": "user", "content": [{"type": "text", "text": "when should I do that?"}]},
        ],
    }  # fmt: skip
    found = site.ask("/v1/chat/completions", body).json()
    assert found["object"] == "chat.completion"
    assert "[1]" in found["choices"][0]["message"]["content"]
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["citations"][0]["document"] == "guides/keys.md"
    assert set(found["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}
    use(monkeypatch, ScriptedChat(["When should I rotate keys?", REPLY]))
    *chunks, (_, end) = events(site.ask("/v1/chat/completions", {**body, "stream": True}).content)
    assert end == "[DONE]"
    assert {chunk["object"] for _, chunk in chunks} == {"chat.completion.chunk"}
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for _, chunk in chunks)
    assert text == "Keys are rotated every quarter [1]. Keys are rotated by a robot in Paris [1?]."
    assert chunks[-1][1]["choices"][0]["finish_reason"] == "stop"
    assert [one["checked"] for one in chunks[-1][1]["citations"]] == [False]
    assert site.ask("/v1/models").json()["data"][0]["id"] == "watersmeet"


def test_a_conversation_that_ends_without_a_question(site: Served) -> None:
    body = {"messages": [{"role": "assistant", "content": "Hello."}]}
    assert site.ask("/v1/chat/completions", body).status == 400
    assert site.ask("/v1/chat/completions", {"messages": []}).status == 422


def test_tokens_and_what_is_private_hold(engine: Engine, vault: Path) -> None:
    secret = {
        "kind": "mcp_server", "path": "/vault", "name": "flamingo keys", "visibility": "group", "groups": ["pink"],
        "owner": "ann", "description": "The flamingo keys are rotated every quarter by the flamingo team",
    }  # fmt: skip
    engine.sync([vault])
    engine.registry.register([secret])
    tokens = Tokens()
    _, ann = tokens.create("read", user="ann", groups=("pink",))
    _, bob = tokens.create("read", user="bob")
    question = {"question": "who rotates the flamingo keys every quarter?"}
    with served(engine, host="0.0.0.0", tokens=tokens) as site:  # noqa: S104 - that is the point
        assert site.ask("/api/chat", question).status == 401
        assert site.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "keys"}]}).status == 401
        assert "flamingo team" in site.ask("/api/chat", question, token=ann).json()["answer"]
        theirs = site.ask("/api/chat", question, token=bob)
        assert theirs.status == 200
        assert "flamingo team" not in theirs.content.decode()
        assert "/vault" not in theirs.content.decode()


def test_the_turns_before_can_be_sent(site: Served) -> None:
    body: dict[str, Any] = {"question": "how often?", "history": [{"question": QUESTION, "answer": "With a tool."}]}
    assert "rotate keys" in site.ask("/api/chat", body).json()["query"]
    both = site.ask("/api/chat", {**body, "conversation_id": "c1"})
    assert (both.status, both.json()["error"]) == (400, "ConfigError")
    assert site.ask("/api/chat", {**body, "history": body["history"] * 11}).status == 422
    assert site.ask("/api/chat", {**body, "history": [{"answer": "x"}]}).status == 422
