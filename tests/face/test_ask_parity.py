"""One answer, every door: the command line, Python, REST, OpenAI's form and MCP answer a question alike."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from serving import served
from watersmeet import AsyncClient, AsyncEngine, Engine
from watersmeet import Client as HttpClient
from watersmeet.face.cli.main import run

pytestmark = pytest.mark.slow


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in ("took_ms", "conversation_id")}


@pytest.mark.parametrize("question", ["how do I rotate keys?", "what does TRN-1042 mean?", "operas by Bizet", "hello"])
def test_the_same_from_every_face(
    engine: Engine,
    vault: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    question: str,
) -> None:
    monkeypatch.setenv("WATERSMEET__INDEX__VECTORS", "false")
    engine.sync([vault])
    expected = engine.ask(question)
    code = run(["ask", question, "--json", "--index", engine.folder])
    assert code == int(expected.no_good_match)
    assert comparable(json.loads(capsys.readouterr().out)) == comparable(expected.to_json())

    async def by_mcp(url: str) -> Any:
        async with Client(f"{url}/mcp") as client:
            return (await client.call_tool("ask", {"question": question})).structured_content

    async def by_stream(place: AsyncEngine | AsyncClient) -> Any:
        async with place, place.ask_stream(question) as stream:
            parts = [part async for part in stream]
            whole = await stream.answer()
        assert "".join(parts) == whole.answer
        return whole.to_json()

    with served(engine) as site:
        for made in (
            HttpClient(site.url).ask(question).to_json(),
            asyncio.run(by_stream(AsyncClient(site.url))),
            asyncio.run(by_stream(AsyncEngine(engine.folder, engine.settings))),
        ):
            assert comparable(made) == comparable(expected.to_json())
        assert comparable(site.ask("/api/chat", {"question": question}).json()) == comparable(expected.to_json())
        body = {"messages": [{"role": "user", "content": question}]}
        completion = site.ask("/v1/chat/completions", body).json()
        assert completion["choices"][0]["message"]["content"] == expected.answer
        assert completion["citations"] == expected.to_json()["citations"]
        assert comparable(asyncio.run(by_mcp(site.url))) == comparable(expected.to_json())
