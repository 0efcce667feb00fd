"""The text of an answer while it grows, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from watersmeet.core.errors import WatersmeetError

if TYPE_CHECKING:
    from watersmeet.engine.ask.model import AnswerText


class AnswerStream(AsyncIterator[str]):
    """Parts of an answer's text: `async for part in stream`. The whole is `await stream.answer()`.

    Leaving its `async with` block early cancels the question.
    """

    def __init__(self, ask: Callable[[Callable[[str], None]], Coroutine[Any, Any, AnswerText]]) -> None:
        self._parts: asyncio.Queue[str | None] = asyncio.Queue()
        self._asking = asyncio.ensure_future(ask(self._parts.put_nowait))
        self._asking.add_done_callback(lambda _: self._parts.put_nowait(None))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        part = await self._parts.get()
        if part is not None:
            return part
        self._parts.put_nowait(None)  # for another iteration, which ends at once
        await self._asking  # raises what has gone wrong
        raise StopAsyncIteration

    async def answer(self) -> AnswerText:
        """The whole answer, with its citations, once it is there."""
        return await self._asking

    async def aclose(self) -> None:
        """Cancel the question, if it is not answered yet."""
        self._asking.cancel()
        with suppress(asyncio.CancelledError, WatersmeetError):
            await self._asking
