"""Methods of a blocking class as coroutines: each call runs in a thread, and a cancelled task ends its call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from watersmeet.core.errors import ConfigError

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
CALLBACKS = ("on_text", "progress")
"""Parameters that are called while a call runs; here, in the thread of the event loop."""


class AsyncCalls:
    """Threads for the calls of one object. Closing ends the calls under way, and waits for them."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._threads = ThreadPoolExecutor(thread_name_prefix=f"watersmeet-{owner}")
        self._running: set[Callable[[], None]] = set()
        self._closed = False

    async def run(self, work: Callable[[], T], end: Callable[[], None]) -> T:
        """Run `work` in a thread; `end` tells it to stop, if nobody waits for it any more."""
        if self._closed:
            raise ConfigError(f"this {self._owner} is closed", "use it before its `async with` block ends")
        self._running.add(end)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, work)
        except asyncio.CancelledError:
            end()
            raise
        finally:
            self._running.discard(end)

    async def close(self) -> None:
        self._closed = True
        for end in [*self._running]:
            end()
        await asyncio.to_thread(self._threads.shutdown)


class ClosedAfterwards:
    """Base of a class that is closed when its `async with` block ends."""

    async def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Coroutines(Generic[S]):
    """Base of a class whose coroutines call the methods of a blocking one."""

    def __init__(self, blocking: S, calls: AsyncCalls) -> None:
        self._blocking = blocking
        self._calls = calls

    def _cancellation(self, arguments: MutableMapping[str, Any], parameters: frozenset[str]) -> Callable[[], None]:
        """Changes the arguments of a call so that it can be ended; returns what ends it. `parameters`: all names."""
        raise NotImplementedError


def coroutine(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[Coroutines[S], P], Coroutine[Any, Any, T]]:
    """A method as a coroutine of the same parameters."""
    signature = inspect.signature(method)
    parameters = frozenset(signature.parameters)

    @wraps(method)
    async def call(self: Coroutines[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound = signature.bind(self._blocking, *args, **kwargs)
        loop = asyncio.get_running_loop()
        for name in CALLBACKS:
            if (callback := bound.arguments.get(name)) is not None:
                bound.arguments[name] = partial(loop.call_soon_threadsafe, callback)
        end = self._cancellation(bound.arguments, parameters)
        return await self._calls.run(partial(method, *bound.args, **bound.kwargs), end)

    return call
