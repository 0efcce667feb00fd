"""What an agent gets: answers in few tokens, and documents, passages and searches as resources."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import PromptReference, ResourceTemplateReference

from mcp_calls import asked
from serving import served
from watersmeet import Engine
from watersmeet.core.token_count import estimate
from watersmeet.present.pack import unpack

pytestmark = pytest.mark.server

FULL = {"detail": "full"}


@pytest.fixture
def server(engine: Engine, vault: Path) -> Iterator[str]:
    engine.sync([vault])
    with served(engine) as site:
        yield f"{site.url}/mcp"


def test_a_compact_answer_has_each_text_once_and_nothing_without_a_value(server: str) -> None:
    async def ask(client: Client) -> list[Any]:
        return [
            await client.call_tool("search", {"query": "rotate keys"}),
            await client.call_tool("get", {"id": "guides/keys.md"}),
            await client.call_tool("related", {"id": "index.md"}),
        ]

    for answer in asked(server, ask):
        found = answer.structured_content
        written = json.dumps(found, ensure_ascii=False)
        assert written.count("Rotate keys every quarter") <= 1
        assert "evidence" not in written
        for part in (found, *found.get("results", ())):
            assert not [name for name, value in part.items() if value in (None, "", [], {}) and value is not False], (
                part
            )


def test_if_nothing_fits_two_passages_are_enough(engine: Engine, write: Callable[[dict[str, str]], Path]) -> None:
    engine.sync([write({f"{n}.md": f"# Note {n}\n\nDoor {n} has a lock and two keys.\n" for n in range(8)})])
    absent = {"query": "keys of a grand piano by Bösendorfer in Vienna"}

    async def ask(client: Client) -> list[Any]:
        return [await client.call_tool("search", {**absent, **more}) for more in ({}, {"budget": 900}, FULL)]

    with served(engine) as site:
        compact, budgeted, full = asked(f"{site.url}/mcp", ask)
    for answer in (compact, budgeted):
        found = answer.structured_content
        assert found["no_good_match"]
        assert 1 <= len(found["results"]) <= 2
        assert len(unpack(found["pack"]["text"])) <= 2
        assert "no good match" in answer.content[0].text
    assert len(full.structured_content["results"]) > 2


def test_a_pack_tells_what_it_saves(engine: Engine, write: Callable[[dict[str, str]], Path]) -> None:
    """Beside the documents that its passages are from, and not beside the others."""
    pages = "".join(f"## Part {n}\n\nThe heron has {n} eggs and waits by the water.\n\n" for n in range(60))
    engine.sync([write({"long.md": f"# Birds\n\n{pages}", "other.md": "# Ships\n\nA ship sails.\n" * 500})])
    with served(engine) as site:
        found = asked(
            f"{site.url}/mcp", lambda client: client.call_tool("search", {"query": "heron part 7", "budget": 600})
        ).structured_content
    pack, whole = found["pack"], estimate(f"# Birds\n\n{pages}")
    assert pack["tokens"] < pack["document_tokens"]
    assert 0.5 * whole < pack["document_tokens"] < 2 * whole
    assert pack["saved_tokens"] == pack["document_tokens"] - pack["tokens"]


def test_a_chunk_and_a_search_are_resources(server: str) -> None:
    async def ask(client: Client) -> None:
        found = await client.call_tool("search", {"query": "rotate keys"})
        chunk = found.structured_content["results"][0]["id"]
        passage = (await client.read_resource(f"watersmeet://chunk/{chunk}")).contents[0].text
        assert passage.startswith("Rotate keys every quarter")
        text = (await client.read_resource("watersmeet://search/rotate%20keys")).contents[0].text
        assert text == found.content[0].text

    asked(server, ask)


def test_ids_are_completed(server: str) -> None:
    document = ResourceTemplateReference(type="ref/resource", uri="watersmeet://document/{+id}")
    prompt = PromptReference(type="ref/prompt", name="answer_with_citations")

    async def ask(client: Client) -> tuple[Any, Any, Any]:
        return (
            (await client.complete(document, {"name": "id", "value": "Keys"})).completion,
            (await client.complete(document, {"name": "id", "value": "guides/"})).completion,
            (await client.complete(prompt, {"name": "question", "value": "k"})).completion,
        )

    inside, beginning, none = asked(server, ask)
    assert "guides/keys.md" in inside.values
    assert beginning.values[0].startswith("guides/")
    assert none.values == []
