"""The MCP server as a process that a client starts and talks to over its standard streams."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from watersmeet.face.mcp.server import make
from watersmeet.face.service import Service


def run(service: Service) -> None:
    async def serve() -> None:
        server = make(service)
        async with stdio_server() as (read, write), anyio.create_task_group() as group:
            told, heard = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group.start_soon(_understood, read, write, told)
            await server.run(heard, write, server.create_initialization_options())
            group.cancel_scope.cancel()

    anyio.run(serve)


async def _understood(read: Any, write: Any, shown: Any) -> None:
    """Pass on what is a message; whoever sends anything else is told so, and may go on."""
    async with shown:
        async for item in read:
            problem = _problem(item) if isinstance(item, ValidationError) else None
            if problem is None:
                await shown.send(item)
            else:
                await write.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=problem)))


def _problem(error: ValidationError) -> types.ErrorData | None:
    """What is wrong with a line; nothing, if it is blank."""
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        return types.ErrorData(code=types.INVALID_REQUEST, message="this line is no JSON-RPC 2.0 message")
    if not str(first["input"]).strip():
        return None
    return types.ErrorData(code=types.PARSE_ERROR, message=f"this line is not JSON: {first['msg']}")
