"""MCP over streamable HTTP, behind the same door as REST."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from watersmeet.face.mcp.server import make
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller

MOST_SESSIONS = 1000


class Endpoint:
    """An ASGI application. `key` is where the door has left who is asking."""

    def __init__(self, service: Service, key: str) -> None:
        self._key = key
        server = make(service, lambda context: self._caller(context.request.scope), local=False)  # type: ignore[union-attr] # HTTP always has a request
        self._manager = StreamableHTTPSessionManager(
            server, max_request_body_size=service.limits.body_bytes, max_sessions=MOST_SESSIONS
        )

    def _caller(self, scope: Any) -> Caller:
        found: Caller = scope[self._key]
        return found

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A session belongs to the token that opened it."""
        caller = self._caller(scope)
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.key, scopes=[caller.scope]))
        await self._manager.asgi_app(scope, receive, send)
