"""MCP over streamable HTTP, behind the same guard as REST."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from watersmeet.face.mcp.server import make
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller
from watersmeet.face.work_queue import Busy

MAX_SESSIONS = 1000
MAX_SESSIONS_PER_CALLER = 50
"""One caller cannot use up all sessions: at the limit, a new one replaces the caller's least recently used one."""
IDLE_SECONDS = 300.0
"""Idle timeout of a session."""
SESSION = b"mcp-session-id"


@dataclass(slots=True)
class _Session:
    """An open session, with its number of running requests and of open streams."""

    caller: Caller
    used: float = field(default_factory=time.monotonic)
    requests: int = 0
    streams: int = 0

    @property
    def expired(self) -> bool:
        return not self.requests and not self.streams and time.monotonic() - self.used > IDLE_SECONDS


class Endpoint:
    """The ASGI application of MCP. `key` is where the guard has put the caller in the scope."""

    def __init__(self, service: Service, key: str) -> None:
        self._key = key
        self._sessions: dict[str, _Session] = {}
        logging.getLogger("mcp").setLevel(logging.ERROR)  # a refusal goes to the client, not to a log
        server = make(service, lambda context: self._caller(context.request.scope), local=False)  # type: ignore[union-attr] # HTTP always has a request
        self._manager = StreamableHTTPSessionManager(
            server,
            max_request_body_size=service.limits.body_bytes,
            max_sessions=MAX_SESSIONS + 1,  # one more, since an ended session is counted for a moment
            session_idle_timeout=IDLE_SECONDS,
        )

    def _caller(self, scope: Any) -> Caller:
        found: Caller = scope[self._key]
        return found

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A session belongs to the token that opened it."""
        caller = self._caller(scope)
        name = next((value.decode("latin-1") for key, value in scope["headers"] if key == SESSION), "")
        if not name:
            await self._make_room(caller)
        _set_user(scope, caller)
        session = self._sessions.get(name)
        session = session if session is not None and session.caller.key == caller.key else None
        stream = scope["method"] == "GET"
        opened = ""

        async def send_and_track(message: Message) -> None:
            nonlocal opened, session
            if message["type"] == "http.response.start" and not name and message["status"] < 400:
                opened = next((v.decode("latin-1") for k, v in message["headers"] if k.lower() == SESSION), "")
                if opened:
                    session = self._sessions[opened] = _Session(caller, requests=1)
            elif message["type"] == "http.response.start" and scope["method"] == "DELETE" and message["status"] < 400:
                self._sessions.pop(name, None)
            await send(message)

        if session is not None:
            session.requests, session.streams = session.requests + (not stream), session.streams + stream
        try:
            await self._manager.asgi_app(scope, receive, send_and_track)
        finally:
            if session is not None:
                session.requests, session.streams = session.requests - (not stream), session.streams - stream
                session.used = time.monotonic()

    async def _make_room(self, caller: Caller) -> None:
        """At a limit, end the least recently used session: the caller's own, or anyone's."""
        self._sessions = {name: session for name, session in self._sessions.items() if not session.expired}
        own = [name for name, session in self._sessions.items() if session.caller.key == caller.key]
        if len(own) >= MAX_SESSIONS_PER_CALLER:
            await self._end(own, f"you have {MAX_SESSIONS_PER_CALLER} busy MCP sessions")
        elif len(self._sessions) >= MAX_SESSIONS:
            await self._end(list(self._sessions), f"{MAX_SESSIONS} MCP sessions are busy")

    async def _end(self, names: list[str], problem: str) -> None:
        idle = [name for name in names if not self._sessions[name].requests]
        if not idle:
            raise Busy(problem, "end some with DELETE, or wait")
        name = min(idle, key=lambda name: self._sessions[name].used)
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "DELETE",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "headers": [(SESSION, name.encode("latin-1")), (b"host", b"localhost")],
        }
        _set_user(scope, self._sessions.pop(name).caller)
        await self._manager.asgi_app(scope, _empty_request, _discard)


def _set_user(scope: Scope, caller: Caller) -> None:
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.key, scopes=[caller.scope]))


async def _empty_request() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard(_: Message) -> None:
    pass
