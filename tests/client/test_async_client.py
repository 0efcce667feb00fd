"""`AsyncClient` against a real server: answers as `Engine`'s, and cancelled requests end on both sides."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator

import pytest

from endless_chat import EndlessChat
from serving import Served
from watersmeet import AsyncClient, Engine
from watersmeet.core.errors import ConfigError, NotFound, Stopped, Unreachable
from watersmeet.engine.ask import ask as asking

pytestmark = pytest.mark.server

WAIT = 10.0
QUESTION = "how do I rotate keys?"


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes a request and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(WAIT)
        yield listening


def address(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def read_request(listening: socket.socket) -> socket.socket:
    connection, _ = listening.accept()
    connection.settimeout(WAIT)
    assert connection.recv(1 << 16)
    return connection


def ended(connection: socket.socket) -> bool:
    """Whether the other side closes the connection in time."""
    with connection:
        while connection.recv(1 << 16):
            pass
        return True


def test_the_same_answers(engine: Engine, site: Served) -> None:
    async def run() -> None:
        async with AsyncClient(site.url) as client:
            found, related = await asyncio.gather(client.search(QUESTION, top_n=3), client.related("guides/keys.md"))
            assert found.results == engine.search(QUESTION, top_n=3).results
            assert related.results == engine.related("guides/keys.md").results
            assert await client.documents() == engine.documents()
            record = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time"}
            assert (await client.registry.register(record)).registered == 1
            assert (await client.registry.find_tools("the time")).servers[0].server_path == "/clock"
            with pytest.raises(NotFound):
                await client.get("nothing.md")
        with pytest.raises(ConfigError, match="closed"):
            await client.status()
        with pytest.raises(ConfigError, match="closed"):
            await client.registry.tags()

    asyncio.run(run())


def test_an_answer_as_it_grows(engine: Engine, site: Served) -> None:
    async def run() -> None:
        async with AsyncClient(site.url) as client, client.ask_stream(QUESTION) as stream:
            parts = [part async for part in stream]
            assert "".join(parts) == (await stream.answer()).answer == engine.ask(QUESTION).answer

    asyncio.run(run())


def test_a_stream_that_is_left_stops_the_model_of_the_server(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = EndlessChat()
    monkeypatch.setattr(asking, "chat_model", lambda settings: chat)

    async def run() -> None:
        async with AsyncClient(site.url) as client:
            async with client.ask_stream(QUESTION) as stream:
                assert "quarter" in await anext(stream)
            assert await asyncio.to_thread(chat.closed.wait, WAIT)

    asyncio.run(run())


def test_a_cancelled_search_closes_its_connection(silent: socket.socket) -> None:
    async def run() -> None:
        async with AsyncClient(address(silent), timeout=60) as client:
            task = asyncio.create_task(client.search(QUESTION))
            connection = await asyncio.to_thread(read_request, silent)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(ended, connection)

    asyncio.run(run())


def test_a_timeout_of_asyncio(silent: socket.socket) -> None:
    async def run() -> None:
        async with AsyncClient(address(silent), timeout=60) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.status()

    begin = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - begin < 30


def test_one_cancelled_request_leaves_the_others(silent: socket.socket) -> None:
    async def run() -> None:
        async with AsyncClient(address(silent), timeout=60) as client:
            first = asyncio.create_task(client.status())
            one = await asyncio.to_thread(read_request, silent)
            second = asyncio.create_task(client.status())
            other = await asyncio.to_thread(read_request, silent)
            first.cancel()
            assert await asyncio.to_thread(ended, one)
            body = json.dumps({"documents": 1}).encode()
            other.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            assert await second == {"documents": 1}
            other.close()

    asyncio.run(run())


def test_closing_cancels_what_is_under_way(silent: socket.socket) -> None:
    async def run() -> None:
        client = AsyncClient(address(silent), timeout=60)
        task = asyncio.create_task(client.status())
        connection = await asyncio.to_thread(read_request, silent)
        await client.close()
        assert await asyncio.to_thread(ended, connection)
        with pytest.raises(Stopped):
            await task

    asyncio.run(run())


def test_no_server(silent: socket.socket) -> None:
    url = address(silent)
    silent.close()

    async def run() -> None:
        async with AsyncClient(url) as client:
            with pytest.raises(Unreachable):
                await client.status()
            with pytest.raises(Unreachable):
                await client.ask(QUESTION)

    asyncio.run(run())
