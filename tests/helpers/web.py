"""A local web server with scripted responses, including broken ones."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Site(ThreadingHTTPServer):
    """Responds with `script` in turn, then with `always`; records the requests."""

    daemon_threads = True

    def __init__(self, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        super().__init__((host, 0), _Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.script: list[Step] = []
        self.always: Step = answer()
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.over = threading.Event()
        self.url = f"http{'s' if tls else ''}://{host}:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.bodies.append(self.body)
        self.server.paths.append(self.path)
        self.server.headers.append(dict(self.headers))
        (self.server.script.pop(0) if self.server.script else self.server.always)(self)
        self.close_connection = True

    do_POST = do_GET

    def log_message(self, *_: object) -> None: ...


Step = Callable[[Any], None]


def answer(body: bytes = b"fine", status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    def step(handler: _Handler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if status != 304:
            handler.wfile.write(body)

    return step


def leads_to(location: str, status: int = 302) -> Step:
    return answer(b"over there", status, {"Location": location})


def raw(*parts: bytes) -> Step:
    """These very bytes."""
    return stream(b"".join(parts), b"", times=0)


def stream(beginning: bytes, part: bytes, every: float = 0.0, times: int = 1_000_000) -> Step:
    """A beginning, then one part again and again, with a pause before each."""

    def step(handler: _Handler) -> None:
        handler.wfile.write(beginning)
        for _ in range(times):
            if every and handler.server.over.wait(every):
                return
            handler.wfile.write(part)

    return step


@contextmanager
def running(site: Site) -> Iterator[Site]:
    thread = threading.Thread(target=site.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        site.shutdown()
        thread.join()
        site.server_close()
