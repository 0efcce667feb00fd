"""`AsyncClient`: the methods of `Client` as coroutines."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from watersmeet.client.client import Client
from watersmeet.client.registry import ClientRegistry
from watersmeet.client.transport import ADDRESS
from watersmeet.common.async_calls import AsyncCalls, ClosedAfterwards, Coroutines, coroutine
from watersmeet.common.http import Cancellation
from watersmeet.engine.ask.stream import AnswerStream

if TYPE_CHECKING:
    from watersmeet.engine.ask.model import Turn


S = TypeVar("S", Client, ClientRegistry)


class _Cancelled(Coroutines[S]):
    """Coroutines whose requests are cancelled with them."""

    def _cancellation(self, arguments: MutableMapping[str, Any], parameters: frozenset[str]) -> Callable[[], None]:
        cancellation = Cancellation()
        arguments["self"] = self._blocking._cancelled_by(cancellation)
        return cancellation.cancel


class AsyncClientRegistry(_Cancelled[ClientRegistry]):
    """Registered entities of a server, as coroutines. Available as `AsyncClient.registry`."""

    register = coroutine(ClientRegistry.register)
    unregister = coroutine(ClientRegistry.unregister)
    set_status = coroutine(ClientRegistry.set_status)
    enable = coroutine(ClientRegistry.enable)
    disable = coroutine(ClientRegistry.disable)
    reindex = coroutine(ClientRegistry.reindex)
    accept = coroutine(ClientRegistry.accept)
    check_duplicates = coroutine(ClientRegistry.check_duplicates)
    embeddings = coroutine(ClientRegistry.embeddings)
    review = coroutine(ClientRegistry.review)
    provenance = coroutine(ClientRegistry.provenance)
    statistics = coroutine(ClientRegistry.statistics)
    get = coroutine(ClientRegistry.get)
    configuration = coroutine(ClientRegistry.configuration)
    search = coroutine(ClientRegistry.search)
    find_tools = coroutine(ClientRegistry.find_tools)
    listing = coroutine(ClientRegistry.listing)
    skills_search = coroutine(ClientRegistry.skills_search)
    tags = coroutine(ClientRegistry.tags)


class AsyncClient(_Cancelled[Client], ClosedAfterwards):
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

    async def close(self) -> None:
        """Cancel what is under way, and wait for it."""
        await self._calls.close()

    sync = coroutine(Client.sync)
    remove = coroutine(Client.remove)
    search = coroutine(Client.search)
    ask = coroutine(Client.ask)
    why_not = coroutine(Client.why_not)
    classify = coroutine(Client.classify)
    related = coroutine(Client.related)
    get = coroutine(Client.get)
    documents = coroutine(Client.documents)
    tags = coroutine(Client.tags)
    status = coroutine(Client.status)
    roots = coroutine(Client.roots)
    audit = coroutine(Client.audit)
    check = coroutine(Client.check)

    def ask_stream(
        self, question: str, *, budget: int | None = None, history: Sequence[Turn] = (), **options: Any
    ) -> AnswerStream:
        """The answer as it grows: `async for text in client.ask_stream("how do I deploy?")`. Parameters are as for
        `ask`."""
        return AnswerStream(
            lambda on_text: self.ask(question, on_text=on_text, budget=budget, history=history, **options)
        )
