"""The server as a process: where it listens is said once it does."""

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

MOST_CONNECTIONS = 512
"""Fewer than the files that a process may usually have open."""
MOST_OF_ONE = 256
ENDING_SECONDS = 5
HEADER_SECONDS = 5.0


def run(app: ASGIApp, host: str, listening: socket.socket, as_json: bool, quiet: bool) -> None:
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    if as_json:
        print(json.dumps({"url": f"http://{shown}:{port}/", "mcp": f"http://{shown}:{port}/mcp"}), flush=True)
    elif not quiet:
        if not is_loopback(host):
            print("it can be reached from elsewhere: every request needs a token", file=sys.stderr)
        print(f"http://{shown}:{port}/ (MCP: /mcp, REST: /openapi.json); Ctrl-C ends it", file=sys.stderr, flush=True)
    gc.freeze()  # what is loaded by now stays for good: no collection need look at it
    with contextlib.suppress(KeyboardInterrupt):  # that is how it is ended
        server(app).run(sockets=[listening])


class Prompt(H11Protocol):
    """A connection on which no whole request comes soon is closed: holding it open costs a stranger nothing.

    Where there are too many, a new one takes the place of the one that has been waited for longest."""

    _waiting: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self.since = self.loop.time()
        self._wait()
        others = [other for other in self.connections if isinstance(other, Prompt)]
        if len(others) <= MOST_CONNECTIONS:
            others = [other for other in others if other.address == self.address]
            if len(others) <= MOST_OF_ONE:
                return
        idle = [other for other in others if other.idle and other is not self]
        last = min(idle, key=lambda other: other.since, default=self)
        self.connections.discard(last)
        last.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """For the head of a request; how long its body may take is the door's business."""
        if not self.idle:
            self._stop_waiting()
            self.since = self.loop.time()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.idle:
            self.transport.abort()


def server(app: ASGIApp) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=Prompt,
        access_log=False,  # it would hold what was asked
        log_level="error",  # what strangers send is no reason to fill a log
        server_header=False,
        timeout_graceful_shutdown=ENDING_SECONDS,
        ws="none",
        proxy_headers=False,  # an address that a caller can make up is none
        lifespan="on",
    )
    return uvicorn.Server(config)
