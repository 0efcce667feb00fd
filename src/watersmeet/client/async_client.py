"""`AsyncClient`: the methods of `Client` as coroutines."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from watersmeet.client.client import Client
from watersmeet.client.registry import ClientRegistry
from watersmeet.client.transport import ADDRESS
from watersmeet.common.async_calls import AsyncCalls, Coroutines, coroutine
from watersmeet.common.http import Cancellation
from watersmeet.engine.ask.stream import AnswerStream

if TYPE_CHECKING:
    from watersmeet.engine.ask.model import Turn


class AsyncClientRegistry(Coroutines[ClientRegistry]):
    """Registered entities of a server, as coroutines. Available as `AsyncClient.registry`."""

    def _cancellation(self, arguments: MutableMapping[str, Any], parameters: frozenset[str]) -> Callable[[], None]:
        cancellation = Cancellation()
        arguments["self"] = ClientRegistry(self._blocking.transport.cancelled_by(cancellation))
        return cancellation.cancel

    register = coroutine(ClientRegistry.register)
    unregister = coroutine(ClientRegistry.unregister)
    set_status = coroutine(ClientRegistry.set_status)
    enable = coroutine(ClientRegistry.enable)
    disable = coroutine(ClientRegistry.disable)
    get = coroutine(ClientRegistry.get)
    search = coroutine(ClientRegistry.search)
    find_tools = coroutine(ClientRegistry.find_tools)
    listing = coroutine(ClientRegistry.listing)
    skills_search = coroutine(ClientRegistry.skills_search)
    tags = coroutine(ClientRegistry.tags)


class AsyncClient(Coroutines[Client]):
    """A client of `watersmeet serve` for asyncio: the methods of `Client` as coroutines, run in threads.

    If a task is cancelled, its request is too, and the server ends the work. Callbacks are called in the event loop.
    `client` is the `Client` itself; parameters are as for it.
    """

    def __init__(self, url: str = ADDRESS, *, token: str = "", timeout: float = 30.0, retries: int = 2) -> None:
        self.client = Client(url, token=token, timeout=timeout, retries=retries)
        super().__init__(self.client, AsyncCalls("AsyncClient"))
        self.registry = AsyncClientRegistry(self.client.registry, self._calls)
        """The registry of servers, tools, agents and skills."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel what is under way, and wait for it."""
        await self._calls.close()

    def _cancellation(self, arguments: MutableMapping[str, Any], parameters: frozenset[str]) -> Callable[[], None]:
        cancellation = Cancellation()
        arguments["self"] = self._blocking._cancelled_by(cancellation)
        return cancellation.cancel

    sync = coroutine(Client.sync)
    remove = coroutine(Client.remove)
    search = coroutine(Client.search)
    ask = coroutine(Client.ask)
    why_not = coroutine(Client.why_not)
    classify = coroutine(Client.classify)
    related = coroutine(Client.related)
    get = coroutine(Client.get)
    documents = coroutine(Client.documents)
    status = coroutine(Client.status)
    roots = coroutine(Client.roots)
    check = coroutine(Client.check)

    def ask_stream(
        self, question: str, *, budget: int | None = None, history: Sequence[Turn] = (), **options: Any
    ) -> AnswerStream:
        """The answer as it grows: `async for text in client.ask_stream("how do I deploy?")`. Parameters are as for
        `ask`."""
        return AnswerStream(
            lambda on_text: self.ask(question, on_text=on_text, budget=budget, history=history, **options)
        )
