"""The MCP server over stdio, as a process that a client starts."""

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
            valid_in, valid_out = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group.start_soon(_forward_valid, read, write, valid_in)
            await server.run(valid_out, write, server.create_initialization_options())
            group.cancel_scope.cancel()

    anyio.run(serve)


async def _forward_valid(read: Any, write: Any, valid: Any) -> None:
    """Forward valid messages; anything else is answered with an error, and the session goes on."""
    async with valid:
        async for item in read:
            problem = _problem(item) if isinstance(item, ValidationError) else None
            if problem is None:
                await valid.send(item)
            else:
                await write.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=problem)))


def _problem(error: ValidationError) -> types.ErrorData | None:
    """The error for an invalid line; none if it is blank."""
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        return types.ErrorData(code=types.INVALID_REQUEST, message="this line is not a JSON-RPC 2.0 message")
    if not str(first["input"]).strip():
        return None
    return types.ErrorData(code=types.PARSE_ERROR, message=f"this line is not JSON: {first['msg']}")
