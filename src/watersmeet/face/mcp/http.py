"""MCP over streamable HTTP, behind the same door as REST."""

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

MOST_SESSIONS = 1000
MOST_OF_ONE = 50
"""One caller cannot have all of them: a new one takes the place of the one that the caller has used least lately."""
IDLE_SECONDS = 300.0
"""A session that nobody uses for so long is closed."""
SESSION = b"mcp-session-id"


@dataclass(slots=True)
class _Session:
    """A session that was opened here, with how many questions are under way and how many streams are listened to."""

    caller: Caller
    used: float = field(default_factory=time.monotonic)
    asking: int = 0
    streams: int = 0

    @property
    def over(self) -> bool:
        return not self.asking and not self.streams and time.monotonic() - self.used > IDLE_SECONDS


class Endpoint:
    """An ASGI application. `key` is where the door has left who is asking."""

    def __init__(self, service: Service, key: str) -> None:
        self._key = key
        self._sessions: dict[str, _Session] = {}
        logging.getLogger("mcp").setLevel(logging.ERROR)  # a refusal is told to whom it concerns, not to a log
        server = make(service, lambda context: self._caller(context.request.scope), local=False)  # type: ignore[union-attr] # HTTP always has a request
        self._manager = StreamableHTTPSessionManager(
            server,
            max_request_body_size=service.limits.body_bytes,
            max_sessions=MOST_SESSIONS + 1,  # the place of one is free before its end is known
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
        _as(scope, caller)
        session = self._sessions.get(name)
        session = session if session is not None and session.caller.key == caller.key else None
        stream = scope["method"] == "GET"
        opened = ""

        async def noting(message: Message) -> None:
            nonlocal opened, session
            if message["type"] == "http.response.start" and not name and message["status"] < 400:
                opened = next((v.decode("latin-1") for k, v in message["headers"] if k.lower() == SESSION), "")
                if opened:
                    session = self._sessions[opened] = _Session(caller, asking=1)
            elif message["type"] == "http.response.start" and scope["method"] == "DELETE" and message["status"] < 400:
                self._sessions.pop(name, None)
            await send(message)

        if session is not None:
            session.asking, session.streams = session.asking + (not stream), session.streams + stream
        try:
            await self._manager.asgi_app(scope, receive, noting)
        finally:
            if session is not None:
                session.asking, session.streams = session.asking - (not stream), session.streams - stream
                session.used = time.monotonic()

    async def _make_room(self, caller: Caller) -> None:
        """End the session that was used least lately where there are too many: the caller's, or anyone's."""
        self._sessions = {name: session for name, session in self._sessions.items() if not session.over}
        own = [name for name, session in self._sessions.items() if session.caller.key == caller.key]
        if len(own) >= MOST_OF_ONE:
            await self._end(own, f"you have {MOST_OF_ONE} MCP sessions at work")
        elif len(self._sessions) >= MOST_SESSIONS:
            await self._end(list(self._sessions), f"{MOST_SESSIONS} MCP sessions are at work")

    async def _end(self, names: list[str], otherwise: str) -> None:
        idle = [name for name in names if not self._sessions[name].asking]
        if not idle:
            raise Busy(otherwise, "end some with DELETE, or wait")
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
        _as(scope, self._sessions.pop(name).caller)
        await self._manager.asgi_app(scope, _nothing, _unheard)


def _as(scope: Scope, caller: Caller) -> None:
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.key, scopes=[caller.scope]))


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_: Message) -> None:
    pass
