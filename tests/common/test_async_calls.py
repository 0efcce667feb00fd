"""Blocking calls as coroutines: their results, errors, callbacks and cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from typing import Any

import pytest

from watersmeet.common.async_calls import AsyncCalls, Coroutines, coroutine
from watersmeet.core.errors import ConfigError

WAIT = 10.0
WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


class Slow:
    """Waits until it is told to end."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()

    def wait(self, what: str, *, progress: Callable[[int], None] | None = None) -> str:
        """Wait."""
        if progress is not None:
            progress(1)
        self.begun.set()
        assert self.ended.wait(WAIT)
        return f"{what} by {WHO.get()} in {threading.current_thread().name}"

    def fail(self) -> None:
        raise ValueError("no")


class AsyncSlow(Coroutines[Slow]):
    wait = coroutine(Slow.wait)
    fail = coroutine(Slow.fail)

    def _cancellation(self, arguments: MutableMapping[str, Any], parameters: frozenset[str]) -> Callable[[], None]:
        return self._blocking.ended.set


def test_a_call_runs_in_a_thread_with_the_context_of_its_task() -> None:
    async def run() -> str:
        slow = AsyncSlow(Slow(), AsyncCalls("Slow"))
        slow._blocking.ended.set()
        WHO.set("me")
        steps: list[tuple[int, threading.Thread]] = []
        found = await slow.wait("done", progress=lambda step: steps.append((step, threading.current_thread())))
        assert steps == [(1, threading.current_thread())]  # in the event loop, and before the result
        with pytest.raises(ValueError, match="no"):
            await slow.fail()
        with pytest.raises(TypeError):
            await slow.wait("done", unknown=True)  # type: ignore[call-arg]
        await slow._calls.close()
        return found

    assert asyncio.run(run()).startswith("done by me in watersmeet-Slow")


def test_it_looks_like_the_method() -> None:
    assert AsyncSlow.wait.__doc__ == "Wait."
    assert asyncio.iscoroutinefunction(AsyncSlow.wait)


def test_a_cancelled_task_ends_its_call() -> None:
    async def run() -> None:
        slow = AsyncSlow(Slow(), AsyncCalls("Slow"))
        task = asyncio.create_task(slow.wait("x"))
        assert await asyncio.to_thread(slow._blocking.begun.wait, WAIT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert slow._blocking.ended.is_set()
        await slow._calls.close()

    asyncio.run(run())


def test_closing_ends_what_is_under_way_and_waits_for_it() -> None:
    async def run() -> str:
        slow = AsyncSlow(Slow(), AsyncCalls("Slow"))
        task = asyncio.create_task(slow.wait("x"))
        assert await asyncio.to_thread(slow._blocking.begun.wait, WAIT)
        await slow._calls.close()
        with pytest.raises(ConfigError, match="this Slow is closed"):
            await slow.wait("again")
        return await task

    assert asyncio.run(run()).startswith("x by nobody")
