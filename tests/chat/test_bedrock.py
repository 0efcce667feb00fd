"""Converse of Bedrock: with botocore's stub for shapes, and against a real server for signatures and event streams."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from aws import KEY, check_signature, set_credentials
from chat_replies import WORDS, bedrock, frame, sent
from watersmeet.chat.bedrock import Bedrock
from watersmeet.common.bedrock import client_of
from watersmeet.core.chat import Chat
from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.testing.contracts.chat import CONVERSATION, QUESTION, ChatContract
from web import Site, Step, answer, running

boto3 = pytest.importorskip("boto3", reason="NOT RUN: boto3 is not installed (extra bedrock)")

CONTENT = "application/vnd.amazon.eventstream"
MODEL = "tiny.model-v1:0"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    set_credentials(monkeypatch)


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    """One server for all: boto3 takes half a second for a client of another address."""
    with running(Site()) as made:
        yield made


@pytest.fixture
def site(server: Site) -> Site:
    for record in (server.paths, server.headers, server.bodies):
        record.clear()
    return server


def model(site: Site, **options: Any) -> Bedrock:
    given = {"endpoint_url": site.url, "region": "eu-west-1", "model": MODEL, "timeout": 30.0, "retries": 0}
    return Bedrock(**{**given, **options})


def streamed(*frames: bytes, end: bool = True) -> Step:
    return sent(*frames, content=CONTENT, end=end)


def refused(code: str, status: int, message: str = "no") -> Step:
    headers = {"x-amzn-ErrorType": code, "Content-Type": "application/json"}
    return answer(json.dumps({"message": message}).encode(), status, headers)


def problem(chat: Bedrock) -> ModelProblem:
    with pytest.raises(ModelProblem) as caught:
        list(chat.stream([QUESTION], 20))
    assert caught.value.hint
    assert KEY not in f"{caught.value} {caught.value.hint}"
    return caught.value


class TestContract(ChatContract):
    @pytest.fixture
    def chat(self, site: Site) -> Chat:
        site.always = streamed(*bedrock(*WORDS))
        return model(site)

    @pytest.fixture
    def broken(self, site: Site) -> Chat:
        site.always = refused("ServiceUnavailableException", 503)
        return model(site)


def test_a_signed_request_and_an_event_stream(site: Site) -> None:
    site.always = streamed(*bedrock(*WORDS))
    assert list(model(site).stream(CONVERSATION, 20)) == list(WORDS)
    assert site.paths == ["/model/tiny.model-v1%3A0/converse-stream"]
    assert json.loads(site.bodies[0]) == {
        "system": [{"text": "You are brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "What is a tern?"}]},
            {"role": "assistant", "content": [{"text": "A bird."}]},
            {"role": "user", "content": [{"text": "Where does it live?"}]},
        ],
        "inferenceConfig": {"maxTokens": 20, "temperature": 0.0},
    }


def test_the_signature_is_that_of_the_credentials(site: Site) -> None:
    site.always = streamed(*bedrock("x"))
    list(model(site).stream([QUESTION], 20))
    check_signature(site.paths[0], site.headers[0], site.bodies[0], "eu-west-1")


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A stub of botocore, which checks requests and errors against the shapes of the service."""
    from botocore.stub import Stubber

    session = boto3.Session(region_name="eu-west-1")
    client = session.client("bedrock-runtime")
    monkeypatch.setattr("watersmeet.common.bedrock.client_of", lambda *_: (client, session.get_credentials()))
    with Stubber(client) as stub:
        yield stub


@pytest.mark.parametrize(
    ("code", "kind", "hint"),
    [
        ("AccessDeniedException", ModelProblem, "credentials"),
        ("ResourceNotFoundException", ModelMissing, f"chat.bedrock.model ({MODEL})"),
        ("ValidationException", ModelProblem, f"chat.bedrock.model ({MODEL})"),
        ("ThrottlingException", ModelProblem, "quota"),
        ("InternalServerException", ModelProblem, "try again later"),
    ],
)
def test_refusals(stubbed: Any, code: str, kind: type[ModelProblem], hint: str) -> None:
    expected = {
        "modelId": MODEL,
        "messages": [{"role": "user", "content": [{"text": QUESTION.text}]}],
        "inferenceConfig": {"maxTokens": 20},
    }
    stubbed.add_client_error("converse_stream", code, f"no, {KEY}", expected_params=expected)
    found = problem(Bedrock(model=MODEL, temperature=-1.0))
    assert type(found) is kind
    assert code in str(found)
    assert hint in found.hint
    stubbed.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (streamed(*bedrock("Hello", finish=None)), "before it was complete"),
        (streamed(*bedrock("Hello")[:2], end=False), "Bedrock: "),
        (streamed(bedrock("Hello")[1][:-6]), "before it was complete"),
        (streamed(bedrock("Hello")[1][:-4] + b"\0\0\0\0"), "Bedrock: "),
        (streamed(*bedrock("Hello", finish="guardrail_intervened")), "withheld"),
        (streamed(frame("throttlingException", {"message": f"slow down {KEY}"}, "exception")), "slow down ***"),
        (refused("UnrecognizedClientException", 403), "UnrecognizedClientException"),
        (answer(b"<html>", 502), "502"),
    ],
    ids=["no end", "cut", "half a frame", "wrong checksum", "guardrail", "exception", "key", "html"],
)
def test_failures_of_a_stream(site: Site, step: Step, message: str) -> None:
    site.always = step
    assert message in str(problem(model(site)))
    assert len(site.paths) == 1


def test_a_reply_that_takes_too_long(site: Site) -> None:
    site.always = streamed(*bedrock("Hello"))
    assert "did not finish within 0 s" in str(problem(model(site, deadline=0.0)))


def test_only_web_addresses() -> None:
    with pytest.raises(ConfigError, match="is not a web address"):
        Bedrock(endpoint_url="bedrock.local")


def test_what_is_missing_is_said(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "AWS_REGION" in problem(Bedrock(timeout=1.0)).hint
    assert "profile" in problem(Bedrock(region="eu-west-1", profile="nobody")).hint
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    client_of.cache_clear()
    assert "credentials" in problem(Bedrock(region="eu-west-1", endpoint_url=site.url)).hint
    client_of.cache_clear()
    monkeypatch.setitem(sys.modules, "boto3", None)
    found = problem(Bedrock(region="eu-west-1"))
    assert isinstance(found, ModelMissing)
    assert "watersmeet[bedrock]" in found.hint
