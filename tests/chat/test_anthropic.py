"""Anthropic's messages API against a real server on a real socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat_replies import WORDS, anthropic, event, sent
from watersmeet.chat.anthropic import Anthropic
from watersmeet.core.chat import Chat, Message
from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.testing.contracts.chat import CONVERSATION, QUESTION, ChatContract
from web import Site, Step, answer

KEY = "sk-ant-very-secret"


def model(site: Site, **options: Any) -> Anthropic:
    given = {"base_url": site.url, "model": "tiny", "backoff": 0.001, "timeout": 5.0, "api_key": KEY}
    return Anthropic(**{**given, **options})


def problem(site: Site, step: Step) -> ModelProblem:
    site.always = step
    with pytest.raises(ModelProblem) as caught:
        list(model(site, retries=0).stream([QUESTION], 20))
    assert caught.value.hint
    assert KEY not in f"{caught.value} {caught.value.hint} {model(site)!r}"
    return caught.value


class TestContract(ChatContract):
    @pytest.fixture
    def chat(self, site: Site) -> Chat:
        def step(handler: Any) -> None:
            """Replies only to turns that alternate and begin with the user, as the API demands."""
            messages = json.loads(site.bodies[-1])["messages"]
            roles = [one["role"] for one in messages]
            valid = roles == (["user", "assistant"] * len(roles))[: len(roles)] and all(
                one["content"] for one in messages
            )
            (sent(*anthropic(*WORDS)) if valid else answer(b"bad order", 400))(handler)

        site.always = step
        return model(site)

    @pytest.fixture
    def broken(self, site: Site) -> Chat:
        site.always = answer(b"overloaded", 529)
        return model(site, retries=0)


def test_what_is_sent_and_what_is_read(site: Site) -> None:
    site.always = sent(*anthropic(*WORDS))
    assert list(model(site).stream((*CONVERSATION, Message("user", "And in winter?")), 20)) == list(WORDS)
    assert site.paths == ["/v1/messages"]
    assert site.headers[0]["x-api-key"] == KEY
    assert site.headers[0]["anthropic-version"] == "2023-06-01"
    assert json.loads(site.bodies[0]) == {
        "model": "tiny",
        "system": "You are brief.",
        "messages": [
            {"role": "user", "content": "What is a tern?"},
            {"role": "assistant", "content": "A bird."},
            {"role": "user", "content": "Where does it live?\n\nAnd in winter?"},
        ],
        "stream": True,
        "max_tokens": 20,
        "temperature": 0.0,
    }


def test_options_of_the_request(site: Site) -> None:
    site.always = sent(*anthropic("x"))
    list(model(site, temperature=-1.0).stream([QUESTION], 20))
    assert not {"temperature", "system"} & json.loads(site.bodies[0]).keys()


def test_a_reply_that_is_cut_by_its_length_is_a_reply(site: Site) -> None:
    site.always = sent(*anthropic("Hello", finish="max_tokens"))
    assert list(model(site).stream([QUESTION], 20)) == ["Hello"]


@pytest.mark.parametrize(
    ("step", "kind", "message", "hint"),
    [
        (
            answer(b'{"type":"error","error":{"message":"invalid x-api-key"}}', 401),
            ModelProblem,
            "401",
            "ANTHROPIC_API_KEY",
        ),
        (answer(KEY.encode(), 404), ModelMissing, "404", "model (tiny)"),
        (answer(b"", 429), ModelProblem, "429", "quota"),
        (answer(b"", 529), ModelProblem, "529", "try again later"),
        (sent(*anthropic("Hello", finish=None)), ModelProblem, "before it was complete", "try again"),
        (sent(*anthropic("Hello")[:-2], end=False), ModelProblem, "broke off", "try again"),
        (sent(*anthropic("Hello", finish="refusal")), ModelProblem, "withheld", "other words"),
        (
            sent(*anthropic("Hello")[:4], event({"type": "error", "error": {"message": f"Overloaded {KEY}"}}, "error")),
            ModelProblem,
            "Overloaded ***",
            "try again",
        ),
    ],
    ids=["key", "model", "busy", "overloaded", "no end", "cut", "refusal", "error event"],
)
def test_failures(site: Site, step: Step, kind: type[ModelProblem], message: str, hint: str) -> None:
    found = problem(site, step)
    assert type(found) is kind
    assert message in str(found)
    assert hint in found.hint


def test_only_web_addresses() -> None:
    with pytest.raises(ConfigError, match="is not a web address"):
        Anthropic(base_url="api.anthropic.com")
