"""Finer points of the servers: values that are no texts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from serving import Served, served
from watersmeet import Engine

pytestmark = pytest.mark.slow


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
