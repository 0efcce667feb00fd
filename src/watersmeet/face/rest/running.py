"""The server as a process: where it listens is said once it does."""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import sys

import uvicorn
from starlette.types import ASGIApp

from watersmeet.face.tokens import is_loopback

MOST_CONNECTIONS = 1000
ENDING_SECONDS = 5


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


def server(app: ASGIApp) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        access_log=False,  # it would hold what was asked
        log_level="warning",
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=ENDING_SECONDS,
        ws="none",
        proxy_headers=False,  # an address that a caller can make up is none
        lifespan="on",
    )
    return uvicorn.Server(config)
