"""MCP over streamable HTTP, behind the same door as REST."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from watersmeet.face.mcp.server import make
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller
from watersmeet.face.work import Busy

MOST_SESSIONS = 1000
MOST_OF_ONE = 50
"""One caller cannot have all of them."""
IDLE_SECONDS = 300.0
"""A session that nobody uses for so long is closed."""


class Endpoint:
    """An ASGI application. `key` is where the door has left who is asking."""

    def __init__(self, service: Service, key: str) -> None:
        self._key = key
        logging.getLogger("mcp").setLevel(logging.ERROR)  # a refusal is told to whom it concerns, not to a log
        server = make(service, lambda context: self._caller(context.request.scope), local=False)  # type: ignore[union-attr] # HTTP always has a request
        self._manager = StreamableHTTPSessionManager(
            server,
            max_request_body_size=service.limits.body_bytes,
            max_sessions=MOST_SESSIONS,
            session_idle_timeout=IDLE_SECONDS,
        )

    def _caller(self, scope: Any) -> Caller:
        found: Caller = scope[self._key]
        return found

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    def _sessions(self, caller: Caller) -> int:
        owners = self._manager._session_owners.values()  # the SDK has no other word on whose its sessions are
        return sum(owner["client_id"] == caller.key for owner in owners)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A session belongs to the token that opened it."""
        caller = self._caller(scope)
        opens = not any(name == b"mcp-session-id" for name, _ in scope["headers"])
        if opens and self._sessions(caller) >= MOST_OF_ONE:
            raise Busy(f"you have {MOST_OF_ONE} MCP sessions open", "end some with DELETE, or wait")
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.key, scopes=[caller.scope]))
        await self._manager.asgi_app(scope, receive, send)
