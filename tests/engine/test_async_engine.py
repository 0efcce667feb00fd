"""`AsyncEngine` over a real index: answers as `Engine`'s, and cancelled work ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from endless_chat import EndlessChat
from watersmeet import AsyncEngine, Engine
from watersmeet.core.errors import ConfigError, NotFound, Stopped
from watersmeet.engine.sync.report import Progress
from watersmeet.testing import ScriptedChat

WAIT = 10.0
QUESTION = "how do I rotate keys?"


class Held(list[Any]):
    """Paths that are only told once they are released."""

    def __init__(self, *paths: Any) -> None:
        super().__init__(paths)
        self.asked, self.released = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[Any]:
        self.asked.set()
        assert self.released.wait(WAIT)
        return super().__iter__()


@pytest.fixture
def synced(engine: Engine, vault: Path) -> Engine:
    engine.sync([vault])
    return engine


def test_the_same_answers(synced: Engine) -> None:
    async def run() -> None:
        async with AsyncEngine(synced.folder, synced.settings) as engine:
            found, related = await asyncio.gather(engine.search(QUESTION, top_n=3), engine.related("guides/keys.md"))
            assert found.results == synced.search(QUESTION, top_n=3).results
            assert related.results == synced.related("guides/keys.md").results
            assert await engine.documents() == synced.documents()
            assert (await engine.registry.search("weather", max_results=3)).entities == []
            with pytest.raises(NotFound):
                await engine.get("nothing.md")
        with pytest.raises(ConfigError, match="closed"):
            await engine.status()

    asyncio.run(run())


def test_writing_reports_its_progress_in_the_event_loop(engine: Engine, vault: Path) -> None:
    async def run() -> None:
        steps: list[tuple[Progress, threading.Thread]] = []
        async with AsyncEngine(engine.folder, engine.settings) as opened:
            report = await opened.sync([vault], progress=lambda step: steps.append((step, threading.current_thread())))
            assert report.added > 1
            assert {thread for _, thread in steps} == {threading.current_thread()}
            assert await opened.remove("guides/keys.md") == 1

    asyncio.run(run())
    assert "guides/keys.md" not in {one["document"] for one in engine.documents()}


def test_an_answer_as_it_grows(synced: Engine) -> None:
    async def run() -> None:
        async with AsyncEngine(synced.folder, synced.settings) as engine:
            chat = ScriptedChat(["Rotate keys every quarter [1]. Use rotate_keys [1]."] * 3)
            parts: list[str] = []
            whole = await engine.ask(QUESTION, on_text=parts.append, chat=chat)
            assert "".join(parts) == whole.answer
            stream = engine.ask_stream(QUESTION, chat=chat)
            assert [part async for part in stream] == parts
            assert [part async for part in stream] == []
            assert (await stream.answer()).citations == whole.citations
            async for part in engine.ask_stream(QUESTION, chat=chat):
                assert part == parts[0]
                break

    asyncio.run(run())


def test_an_error_of_a_stream_is_raised_where_it_is_read(engine: Engine) -> None:
    async def run() -> None:
        async with AsyncEngine(engine.folder, engine.settings) as opened:
            with pytest.raises(ConfigError, match="empty"):
                [part async for part in opened.ask_stream(" ")]

    asyncio.run(run())


# ---------------------------------------------------------------- cancellation


def test_a_cancelled_search_ends_at_its_next_step(synced: Engine) -> None:
    async def run() -> None:
        steps: list[int] = []
        begun, released = threading.Event(), threading.Event()

        def stop() -> bool:
            steps.append(1)
            begun.set()
            assert released.wait(WAIT)
            return False

        async with AsyncEngine(synced.folder, synced.settings) as engine:
            task = asyncio.create_task(engine.search(QUESTION, stop=stop))
            assert await asyncio.to_thread(begun.wait, WAIT)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            released.set()
        assert len(steps) == 1
        async with AsyncEngine(synced.folder, synced.settings) as engine:
            assert (await engine.search(QUESTION, stop=stop)).results
        assert len(steps) > 2  # a search that is not cancelled asks more often

    asyncio.run(run())


def test_a_search_still_heeds_its_own_stop(synced: Engine) -> None:
    async def run() -> None:
        async with AsyncEngine(synced.folder, synced.settings) as engine:
            with pytest.raises(Stopped):
                await engine.search(QUESTION, stop=lambda: True)

    asyncio.run(run())


def test_a_cancelled_question_stops_the_model(synced: Engine) -> None:
    async def run() -> None:
        chat = EndlessChat()
        async with AsyncEngine(synced.folder, synced.settings) as engine:
            async with engine.ask_stream(QUESTION, chat=chat) as stream:
                async for part in stream:
                    assert "quarter" in part
                    break
            assert await asyncio.to_thread(chat.closed.wait, WAIT)
            with pytest.raises(asyncio.CancelledError):
                await stream.answer()

    asyncio.run(run())


def test_a_cancelled_sync_writes_nothing_more(engine: Engine, vault: Path) -> None:
    async def run() -> None:
        paths = Held(vault)
        async with AsyncEngine(engine.folder, engine.settings) as opened:
            task = asyncio.create_task(opened.sync(paths))
            assert await asyncio.to_thread(paths.asked.wait, WAIT)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            paths.released.set()

    asyncio.run(run())
    assert engine.documents() == []


def test_closing_ends_a_question_under_way(synced: Engine) -> None:
    async def run() -> None:
        chat = EndlessChat()
        engine = AsyncEngine(synced.folder, synced.settings)
        stream = engine.ask_stream(QUESTION, chat=chat)
        assert await anext(stream)
        await engine.close()
        assert chat.closed.is_set()
        with pytest.raises(Stopped):
            await stream.answer()

    asyncio.run(run())
