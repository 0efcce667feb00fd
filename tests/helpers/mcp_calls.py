"""Calls of an MCP server by the SDK's own client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client

Ask = Callable[[Client], Awaitable[Any]]


def asked(server: Any, ask: Ask, **how: Any) -> Any:
    async def go() -> Any:
        async with Client(server, **how) as client:
            return await asyncio.wait_for(ask(client), 60)

    return asyncio.run(go())
