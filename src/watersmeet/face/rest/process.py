"""The HTTP server process: connection limits, timeouts and the address it prints."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import socket
import sys

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from watersmeet.face.tokens import is_loopback

MAX_CONNECTIONS = 512
"""Below the usual limit of open files of a process."""
MAX_CONNECTIONS_PER_ADDRESS = 256
SHUTDOWN_SECONDS = 5
HEADER_SECONDS = 5.0


def run(app: ASGIApp, host: str, listening: socket.socket, as_json: bool, quiet: bool) -> None:
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    if as_json:
        print(json.dumps({"url": f"http://{shown}:{port}/", "mcp": f"http://{shown}:{port}/mcp"}), flush=True)
    elif not quiet:
        if not is_loopback(host):
            print("other machines can reach this server: every request needs a token", file=sys.stderr)
        print(f"http://{shown}:{port}/ (MCP: /mcp, REST: /openapi.json); Ctrl-C stops it", file=sys.stderr, flush=True)
    gc.freeze()  # what is loaded by now stays: the garbage collector can skip it
    with contextlib.suppress(KeyboardInterrupt):  # the usual way to stop it
        server(app).run(sockets=[listening])


class Prompt(H11Protocol):
    """HTTP connection with a timeout for the head of a request, since idle connections cost an attacker nothing.

    At the limit of connections, a new one replaces the one that has been idle longest."""

    _timeout: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self.since = self.loop.time()
        self._update_timeout()
        others = [other for other in self.connections if isinstance(other, Prompt)]
        if len(others) <= MAX_CONNECTIONS:
            others = [other for other in others if other.address == self.address]
            if len(others) <= MAX_CONNECTIONS_PER_ADDRESS:
                return
        idle = [other for other in others if other.idle and other is not self]
        last = min(idle, key=lambda other: other.since, default=self)
        self.connections.discard(last)
        last.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timeout()
        super().connection_lost(exc)

    def _update_timeout(self) -> None:
        """Start or stop the timeout for the head of a request; the guard has the timeout for its body."""
        if not self.idle:
            self._cancel_timeout()
            self.since = self.loop.time()
        elif self._timeout is None:
            self._timeout = self.loop.call_later(HEADER_SECONDS, self._close_idle)

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _close_idle(self) -> None:
        self._timeout = None
        if self.idle:
            self.transport.abort()


def server(app: ASGIApp) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=Prompt,
        access_log=False,  # it would hold queries
        log_level="error",  # malformed requests must not fill a log
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ws="none",
        proxy_headers=False,  # a caller can forge them
        lifespan="on",
    )
    return uvicorn.Server(config)
