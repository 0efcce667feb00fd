"""Finer points of the servers: what a budget bounds, and values that are no texts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from serving import Served, served
from watersmeet import Engine


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    for rating in (4, 5):
        (vault / f"{rating}.md").write_text(f"---\nrating: {rating}\ndone: {rating == 4}\n---\n# Tides\n\nOf tides.\n")
    engine.sync([vault])
    with served(engine) as made:
        yield made


def tool(site: Served, **asked: Any) -> Any:
    async def go() -> Any:
        async with Client(f"{site.url}/mcp") as client:
            return await asyncio.wait_for(client.call_tool("search", asked), 60)

    return asyncio.run(go())


def test_a_budget_bounds_what_an_agent_gets(site: Served) -> None:
    plain, bounded = tool(site, query="rotate keys"), tool(site, query="rotate keys", budget=200)
    assert [one["id"] for one in bounded.structured_content["results"]] == [
        one["id"] for one in plain.structured_content["results"]
    ]
    assert all(not one["text"] and not one["evidence"] for one in bounded.structured_content["results"])
    assert "Rotate keys every quarter" in bounded.structured_content["pack"]["text"]
    assert len(json.dumps(bounded.structured_content)) < len(json.dumps(plain.structured_content))


def test_what_does_not_fit_is_not_called_missing(site: Served) -> None:
    answer = tool(site, query="rotate keys", budget=1)
    assert answer.structured_content["results"]
    assert "no passage fits into 1 tokens" in answer.content[0].text
    assert "Nothing was found" not in answer.content[0].text


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"rating": 4}, ["4.md"]),
        ({"rating": [4, 5]}, ["4.md", "5.md"]),
        ({"done": True}, ["4.md"]),
        ({"rating": 4.5}, []),
        ({"rating": 5.0}, ["5.md"]),
    ],
)
def test_values_need_not_be_texts(site: Served, filters: dict[str, Any], found: list[str]) -> None:
    over_rest = site.ask("/api/search", {"query": "tides", "filters": filters}).json()["results"]
    assert sorted(one["document"] for one in over_rest) == found
    over_mcp = tool(site, query="tides", filters=filters).structured_content["results"]
    assert sorted(one["document"] for one in over_mcp) == found
