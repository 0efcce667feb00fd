"""InvokeModel of Bedrock: against a server that checks bodies and signatures, and with botocore's stub for shapes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from aws import KEY, check_signature, set_credentials
from embedding_servers import bedrock
from watersmeet.common.bedrock import client_of
from watersmeet.core.errors import ConfigError, ModelMissing, ModelProblem
from watersmeet.core.vectors import Embedder
from watersmeet.embed import _remote
from watersmeet.embed.bedrock import Bedrock
from watersmeet.testing.contracts.embedder import EmbedderContract
from web import Site, answer, running

boto3 = pytest.importorskip("boto3", reason="NOT RUN: boto3 is not installed (extra bedrock)")

TITAN, COHERE_3, COHERE_4 = "amazon.titan-embed-text-v2:0", "cohere.embed-english-v3", "us.cohere.embed-v4:0"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    set_credentials(monkeypatch)
    _remote.dimensions.clear()


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    """One server for all: boto3 takes half a second for a client of another address."""
    with running(Site()) as made:
        yield made


@pytest.fixture
def site(server: Site) -> Site:
    for record in (server.paths, server.headers, server.bodies):
        record.clear()
    server.always = bedrock()
    return server


def model(site: Site, **options: Any) -> Bedrock:
    return Bedrock(**{"endpoint_url": site.url, "region": "eu-west-1", "retries": 0, **options})


class TestTitan(EmbedderContract):
    @pytest.fixture
    def embedder(self, site: Site) -> Embedder:
        return model(site)


class TestCohere3(EmbedderContract):
    @pytest.fixture
    def embedder(self, site: Site) -> Embedder:
        return model(site, model=COHERE_3)


def test_titan_takes_one_text_in_each_signed_request(site: Site) -> None:
    texts = [f"text number {number}" for number in range(20)]
    vectors = model(site, dimensions=512).embed(texts)
    assert vectors.shape == (20, 512)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    bodies = sorted((json.loads(body) for body in site.bodies), key=lambda body: texts.index(body["inputText"]))
    assert bodies == [{"inputText": text, "normalize": True, "dimensions": 512} for text in texts]
    assert np.allclose(vectors[7], model(site, dimensions=512).embed([texts[7]])[0], atol=1e-6)
    assert set(site.paths) == {"/model/amazon.titan-embed-text-v2%3A0/invoke"}
    check_signature(site.paths[0], site.headers[0], site.bodies[0], "eu-west-1")


def test_the_first_titan_takes_nothing_but_the_text(site: Site) -> None:
    model(site, model="amazon.titan-embed-text-v1").embed(["a tern"])
    assert json.loads(site.bodies[0]) == {"inputText": "a tern"}


@pytest.mark.parametrize(
    ("name", "options", "extra"),
    [
        (COHERE_3, {}, {"truncate": "END"}),
        (COHERE_4, {"dimensions": 256}, {"truncate": "RIGHT", "output_dimension": 256}),
        (
            "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x1",
            {"family": "cohere"},
            {"truncate": "RIGHT"},
        ),
    ],
)
def test_cohere_says_what_is_a_query(site: Site, name: str, options: dict[str, Any], extra: dict[str, Any]) -> None:
    one = model(site, model=name, batch=200, **options)
    assert one.embed([f"a tern {number}" for number in range(97)]).shape == (97, 256)
    one.embed_query("tern")
    common = {"embedding_types": ["float"], **extra}
    documents, rest, query = [json.loads(body) for body in site.bodies]
    assert documents == {"texts": [f"a tern {n}" for n in range(96)], "input_type": "search_document", **common}
    assert rest["texts"] == ["a tern 96"]
    assert query == {"texts": ["tern"], "input_type": "search_query", **common}


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A stub of botocore, which checks requests and answers against the shapes of the service."""
    from botocore.stub import Stubber

    session = boto3.Session(region_name="eu-west-1")
    client = session.client("bedrock-runtime")
    monkeypatch.setattr("watersmeet.common.bedrock.client_of", lambda *_: (client, session.get_credentials()))
    with Stubber(client) as stub:
        yield stub


EXPECTED = {
    "modelId": TITAN,
    "body": json.dumps({"inputText": "a tern", "normalize": True}).encode(),
    "contentType": "application/json",
    "accept": "application/json",
}


def test_the_shapes_of_the_service(stubbed: Any) -> None:
    from botocore.response import StreamingBody

    content = b'{"embedding": [3.0, 4.0], "inputTextTokenCount": 3}'
    response = {"body": StreamingBody(io.BytesIO(content), len(content)), "contentType": "application/json"}
    stubbed.add_response("invoke_model", response, EXPECTED)
    assert Bedrock().embed(["a tern"]).tolist() == [pytest.approx([0.6, 0.8])]
    stubbed.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "kind", "hint"),
    [
        ("AccessDeniedException", ModelProblem, "credentials"),
        ("ResourceNotFoundException", ModelMissing, f"embed.bedrock.model ({TITAN})"),
        ("ValidationException", ModelProblem, f"embed.bedrock.model ({TITAN})"),
        ("ThrottlingException", ModelProblem, "quota"),
        ("InternalServerException", ModelProblem, "try again later"),
    ],
)
def test_refusals(stubbed: Any, code: str, kind: type[ModelProblem], hint: str) -> None:
    stubbed.add_client_error("invoke_model", code, f"no, {KEY}", expected_params=EXPECTED)
    with pytest.raises(ModelProblem, match=code) as caught:
        Bedrock().embed(["a tern"])
    assert type(caught.value) is kind
    assert hint in caught.value.hint
    assert KEY not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "not JSON"),
        (b"[]", "without embeddings"),
        (b'{"embedding": "x"}', "without embeddings"),
        (b'{"embedding": []}', "no usable vector"),
        (b'{"embedding": [0.0, 0.0]}', "no usable vector"),
    ],
)
def test_strange_answers(site: Site, content: bytes, message: str) -> None:
    site.always = answer(content, headers={"Content-Type": "application/json"})
    with pytest.raises(ModelProblem, match=message) as caught:
        model(site).embed(["a tern"])
    assert caught.value.hint


def test_a_busy_service_is_asked_again(site: Site) -> None:
    headers = {"x-amzn-ErrorType": "ThrottlingException", "Content-Type": "application/json"}
    site.script = [answer(b'{"message": "slow down"}', 429, headers)]
    assert model(site, retries=1).embed(["a tern"]).shape == (1, 256)
    assert len(site.paths) == 2


def test_what_is_missing_or_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelProblem) as caught:
        Bedrock().embed(["a"])
    assert "embed.bedrock.region" in caught.value.hint
    with pytest.raises(ConfigError, match="neither a Titan nor a Cohere"):
        Bedrock(model="amazon.nova-lite-v1:0")
    with pytest.raises(ConfigError, match="family cannot be 'nova'"):
        Bedrock(family="nova")
    with pytest.raises(ConfigError, match="is not a web address"):
        Bedrock(endpoint_url="bedrock.local")
    client_of.cache_clear()
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ModelMissing) as caught_missing:
        Bedrock(region="eu-west-1").embed(["a"])
    assert "watersmeet[bedrock]" in caught_missing.value.hint
