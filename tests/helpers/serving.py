"""A test server on its own port, and its responses."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from watersmeet import Engine
from watersmeet.face.rest.app import make
from watersmeet.face.rest.process import server
from watersmeet.face.service import Service
from watersmeet.face.tokens import Tokens


@dataclass
class Reply:
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Served:
    port: int
    service: Service

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, body: Any = None, method: str = "", token: str = "", **headers: str) -> Reply:
        """A request as a program would send it; header names with _ for -."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        content = body
        if body is not None and not isinstance(body, bytes):
            content = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        return self.raw(method or ("GET" if body is None else "POST"), path, content, sent)

    def raw(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, content, dict(headers))
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


@contextmanager
def served(
    engine: Engine,
    *,
    host: str = "127.0.0.1",
    allow_write: bool = False,
    tokens: Tokens | None = None,
    hosts: tuple[str, ...] = (),
) -> Iterator[Served]:
    """`host`: the host name that the server is configured with; requests go to this machine."""
    with serving(Service(engine, allow_write=allow_write), host, hosts, tokens) as site:
        yield site


@contextmanager
def serving(
    service: Service, host: str = "127.0.0.1", hosts: tuple[str, ...] = (), tokens: Tokens | None = None
) -> Iterator[Served]:
    """A server over a service; its index stays open."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    running = server(make(service, host, hosts, tokens))
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not running.started and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield Served(listening.getsockname()[1], service)
    finally:
        running.should_exit = True
        thread.join(10)
        for work in (service.work, service.changes, service.watch, service.answers):
            work.close()
        listening.close()
