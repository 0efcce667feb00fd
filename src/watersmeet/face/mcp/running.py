"""The MCP server as a process that a client starts and talks to over its standard streams."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from watersmeet.face.mcp.server import make
from watersmeet.face.service import Service


def run(service: Service) -> None:
    async def serve() -> None:
        server = make(service)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)
