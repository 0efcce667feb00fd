"""`AsyncEngine`: the methods of `Engine` as coroutines."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from watersmeet.common.async_calls import AsyncCalls, ClosedAfterwards, Coroutines, coroutine
from watersmeet.core.index import ReadableIndex
from watersmeet.engine.ask.stream import AnswerStream
from watersmeet.engine.engine import Engine
from watersmeet.engine.registry import Registry
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.report import cancellable

if TYPE_CHECKING:
    from watersmeet.core.chat import Chat
    from watersmeet.engine.ask.model import Turn

S = TypeVar("S")
REQUESTS = ("request", "task", "question")
"""Parameters that say what is searched for, with a `stop` of their own or among the options."""


class _StopAware(Coroutines[S]):
    """Coroutines that end their call at its next step: by `stop` of a request, or in the callback of a write."""

    def _cancellation(self, arguments: MutableMapping[str, Any], parameters: frozenset[str]) -> Callable[[], None]:
        stop = Event()
        if "progress" in parameters:
            arguments["progress"] = cancellable(stop, arguments.get("progress") or (lambda _: None))
        for name in parameters.intersection(REQUESTS):
            options = arguments.get("options", {})
            given = options.get("stop") or getattr(arguments[name], "stop", None)
            ended = partial(_either, stop.is_set, given) if given else stop.is_set
            if "options" in parameters:
                arguments["options"] = {**options, "stop": ended}
            else:
                arguments[name] = replace(arguments[name], stop=ended)
        return stop.set


def _either(one: Callable[[], bool], other: Callable[[], bool]) -> bool:
    return one() or other()


class AsyncRegistry(_StopAware[Registry]):
    """Registered entities of an index, as coroutines. Available as `AsyncEngine.registry`."""

    register = coroutine(Registry.register)
    put = coroutine(Registry.put)
    unregister = coroutine(Registry.unregister)
    set_status = coroutine(Registry.set_status)
    enable = coroutine(Registry.enable)
    disable = coroutine(Registry.disable)
    pull = coroutine(Registry.pull)
    statistics = coroutine(Registry.statistics)
    get = coroutine(Registry.get)
    configuration = coroutine(Registry.configuration)
    spelled = coroutine(Registry.spelled)
    search = coroutine(Registry.search)
    find_tools = coroutine(Registry.find_tools)
    listing = coroutine(Registry.listing)
    skills_search = coroutine(Registry.skills_search)
    tags = coroutine(Registry.tags)


class AsyncEngine(_StopAware[Engine], ClosedAfterwards):
    """An opened index for asyncio: the methods of `Engine` as coroutines, run in threads.

    If a task is cancelled, its search, answer or sync ends at the next step. Callbacks are called in the event loop.
    `engine` is the `Engine` itself.
    """

    def __init__(self, index: str | os.PathLike[str] | ReadableIndex, settings: Settings | None = None) -> None:
        self.engine = Engine(index, settings)
        super().__init__(self.engine, AsyncCalls("AsyncEngine"))
        self.registry = AsyncRegistry(self.engine.registry, self._calls)
        """The registry of servers, tools, agents and skills."""

    async def close(self) -> None:
        """End what is under way, wait for it, and close the index."""
        await self._calls.close()
        self.engine.close()

    sync = coroutine(Engine.sync)
    deepen = coroutine(Engine.deepen)
    remove = coroutine(Engine.remove)
    collections = coroutine(Engine.collections)
    set_audience = coroutine(Engine.set_audience)
    relocate = coroutine(Engine.relocate)
    compact = coroutine(Engine.compact)
    search = coroutine(Engine.search)
    ask = coroutine(Engine.ask)
    why_not = coroutine(Engine.why_not)
    classify = coroutine(Engine.classify)
    related = coroutine(Engine.related)
    get = coroutine(Engine.get)
    documents = coroutine(Engine.documents)
    tags = coroutine(Engine.tags)
    unknown_fields = coroutine(Engine.unknown_fields)
    releases = coroutine(Engine.releases)
    passages = coroutine(Engine.passages)
    link_texts = coroutine(Engine.link_texts)
    status = coroutine(Engine.status)
    roots = coroutine(Engine.roots)
    check = coroutine(Engine.check)
    doctor = coroutine(Engine.doctor)

    def ask_stream(
        self,
        question: str,
        *,
        budget: int | None = None,
        history: Sequence[Turn] = (),
        chat: Chat | None = None,
        **options: Any,
    ) -> AnswerStream:
        """The answer as it grows: `async for text in engine.ask_stream("how do I deploy?")`. Parameters are as for
        `ask`."""
        return AnswerStream(
            lambda on_text: self.ask(question, on_text=on_text, budget=budget, history=history, chat=chat, **options)
        )
