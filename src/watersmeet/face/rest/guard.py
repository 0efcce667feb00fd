"""The guard of every request: Host, Origin, token, rate limit and body size; and the headers of every answer."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from watersmeet.core.actor import acting
from watersmeet.core.errors import WatersmeetError
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.settings.settings import ServeSettings
from watersmeet.face.access_log import Access, AccessLog
from watersmeet.face.metrics import Metrics
from watersmeet.face.rest import problems
from watersmeet.face.rest.problems import Refused
from watersmeet.face.tokens import Caller, Tokens, is_loopback

CALLER, RECEIVED = "watersmeet.caller", "watersmeet.received"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN, OPEN_BELOW = ("/", "/quality", "/health", "/ready"), ("/web/", "/doc/")
"""Paths that need no token where others do, and beginnings of such paths: they show nothing of the index."""
BODY_SECONDS = 10.0
CROSS_ORIGIN_HINT = "use the server's own page, or a program other than a browser"
BODY_HINT = "send less at a time, or raise serve.body_bytes"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
MAX_KEYS = 10_000

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
DEFAULT_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'")
NO_STORE = (b"cache-control", b"no-store")


@dataclass(slots=True)
class Rates:
    """A rate limit for each key: a token bucket of `burst` that refills at `rate` a second. The oldest keys are
    dropped."""

    rate: float
    burst: float
    _budgets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, key: str) -> float:
        """Seconds until the next request is allowed; 0 if it is allowed now."""
        left, last = self._budgets.get(key, (self.burst, 0.0))
        return max(0.0, (1 - left) / self.rate - (time.monotonic() - last))

    def take(self, key: str) -> None:
        now = time.monotonic()
        left, last = self._budgets.pop(key, (self.burst, now))
        self._budgets[key] = (min(self.burst, left + (now - last) * self.rate) - 1, now)
        if len(self._budgets) > MAX_KEYS:
            self._budgets.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Hosts:
    """Host names of this server. Checking them defeats DNS rebinding: a foreign page can point its own name here, but
    cannot use ours."""

    host: str
    more: tuple[str, ...] = ()

    def is_own_name(self, name: str) -> bool:
        name = name.strip("[]").rstrip(".").casefold()
        if name in LOOPBACK or name in (self.host.strip("[]").casefold(), *map(str.casefold, self.more)):
            return True
        if is_loopback(self.host):
            return False
        return _is_address(name) or name == socket.gethostname().casefold()

    def of(self, header: str) -> bool:
        """Whether a Host header, which may hold a port, names this server."""
        try:
            parts = urlsplit(f"//{header}")
            named, _ = parts.hostname, parts.port
        except ValueError:
            return False
        plain = not (set(header) & set("/?#@\\ ,\t"))
        return bool(named) and plain and self.is_own_name(named or "")

    def origin(self, header: str, host: str) -> bool:
        """Whether an Origin header is this server's own page: the same name and port."""
        scheme, sign, rest = header.partition("://")
        return bool(sign) and scheme in ("http", "https") and self.of(rest) and rest.casefold() == host.casefold()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware around the whole application, MCP included."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Hosts,
        tokens: Tokens,
        limits: ServeSettings,
        metrics: Metrics,
        log: AccessLog | None = None,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._tokens = tokens
        self._limits = limits
        self._metrics = metrics
        self._log = log
        self._needs_token = not is_loopback(hosts.host)
        self._rates = Rates(limits.rate, 2 * limits.rate)
        self._wrong_tokens = Rates(limits.failures / 60, limits.failures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = sent_bytes = 0
        caller: Caller | None = None

        async def send_with_headers(message: Message) -> None:
            nonlocal status, sent_bytes
            sent_bytes += len(message.get("body", b""))
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_security_headers(message.get("headers", ()))
            elif message.get("more_body") and caller and caller.token and not self._tokens.is_valid(caller.token):
                raise Refused(401, "this token was revoked, or has expired")  # a running stream ends here
            await send(message)

        try:
            try:
                headers = _headers(scope)
                self._check(scope, headers)
                try:
                    scope[CALLER] = caller = self._caller(scope, headers)
                except (WatersmeetError, OSError):
                    raise Refused(503, "the tokens cannot be read", "check tokens.json on the server") from None
                whole = await self._body(scope, headers, receive)
                if whole is not None:
                    with acting(caller.actor("rest")):
                        await self._app(scope, whole, send_with_headers)
            except Refused as refused:
                if not status:
                    await problems.refusal(refused)(scope, receive, send_with_headers)
            except WatersmeetError as error:
                await problems.of(error)(scope, receive, send_with_headers)
            except Exception as error:  # noqa: BLE001 - the outermost handler; a log would hold the error's message
                if not status:
                    await problems.defect(error)(scope, receive, send_with_headers)
        finally:
            self._note(scope, status or 499, time.perf_counter() - start, caller, sent_bytes)

    def _note(self, scope: Scope, status: int, seconds: float, caller: Caller | None, sent_bytes: int) -> None:
        """Count a request, and write its line into the access log."""
        method, route = scope["method"] if scope["method"] in METHODS else "other", _route(scope)
        self._metrics.requested(route, method, status, seconds)
        if self._log is not None:
            name, received = caller.name if caller else "", scope.get(RECEIVED, 0)
            self._log.write(Access(method, route, status, round(seconds * 1000, 1), name, received, sent_bytes))

    def _check(self, scope: Scope, headers: MutableMapping[str, str]) -> None:
        host = headers.get("host", "")
        if not self._hosts.of(host):
            raise Refused(
                403, "this server has another host name", "use localhost, or allow the name with --allow-host"
            )
        origin = headers.get("origin")
        if origin is not None and not self._hosts.origin(origin, host):
            raise Refused(403, "requests from pages of other sites are refused", CROSS_ORIGIN_HINT)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_open(scope["path"]):
            raise Refused(403, "requests from pages of other sites are refused", CROSS_ORIGIN_HINT)

    def _caller(self, scope: Scope, headers: MutableMapping[str, str]) -> Caller:
        address = (scope.get("client") or ("",))[0]
        sent = headers.get("authorization")
        if sent is None:
            if self._needs_token and not _is_open(scope["path"]):
                raise _unauthorized("this server needs a token")
            token_scope = "read" if self._tokens.were_created() else "write"
            caller = Caller(EVERYONE, token_scope, f"address {address}")
        else:
            caller = self._holder(sent, address)
        caller = replace(caller, is_local=self._is_local(address, headers))
        wait = self._rates.wait(caller.key)
        if wait:
            raise Refused(429, "too many requests", "slow down", {"Retry-After": str(int(wait) + 1)})
        self._rates.take(caller.key)
        return caller

    def _is_local(self, address: str, headers: MutableMapping[str, str]) -> bool:
        """Whether the caller is on this machine, and not behind a proxy on it."""
        proxied = "forwarded" in headers or "x-forwarded-for" in headers
        return not self._needs_token and is_loopback(address) and not proxied

    def _holder(self, sent: str, address: str) -> Caller:
        kind, _, secret = sent.partition(" ")
        token = self._tokens.holder(secret.strip()) if kind.casefold() == "bearer" else None
        if token is None:
            if self._wrong_tokens.wait(address):
                raise Refused(429, "too many wrong tokens", "wait a minute", {"Retry-After": "60"})
            self._wrong_tokens.take(address)
            raise _unauthorized("this token is not valid")
        if token.has_expired:
            raise _unauthorized(f"this token expired on {token.expires}")
        self._tokens.note_use(token)
        viewer = Viewer(token.user, token.groups)
        return Caller(viewer, token.scope, f"token {token.id}", token=token.id, name=token.label)

    async def _body(self, scope: Scope, headers: MutableMapping[str, str], receive: Receive) -> Receive | None:
        """The whole body, if it is not too long; None if the client disconnected."""
        max_bytes = self._limits.body_bytes
        declared = headers.get("content-length", "0")
        if not declared.isdigit() or int(declared) > max_bytes:
            raise Refused(413, f"the body is longer than {max_bytes} bytes", BODY_HINT)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    scope[RECEIVED] = size
                    if size > max_bytes:
                        raise Refused(413, f"the body is longer than {max_bytes} bytes", BODY_HINT)
                    parts.append(part)
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            raise Refused(400, f"the body did not arrive within {BODY_SECONDS:g} s", "send it faster") from None
        pending: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        return replay


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(OPEN_BELOW)


def _unauthorized(detail: str) -> Refused:
    hint = "send `Authorization: Bearer TOKEN`; `watersmeet token create` makes one"
    return Refused(401, detail, hint, {"WWW-Authenticate": "Bearer"})


def _headers(scope: Scope) -> MutableMapping[str, str]:
    """Headers by name. One that decides on access may occur only once."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in found and name in ("host", "origin", "authorization", "content-length"):
            raise Refused(400, f"the header {name} occurs twice", "send it once")
        found[name] = value.decode("latin-1")
    if (
        "content-length" in found and "transfer-encoding" in found
    ):  # a proxy may have used the other one: request smuggling
        raise Refused(
            400,
            "the request has both Content-Length and Transfer-Encoding",
            "send one of them",
            {"Connection": "close"},
        )
    return found


def _with_security_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    made = [*headers, *HEADERS]
    names = {name.lower() for name, _ in made}
    return [*made, *(pair for pair in (DEFAULT_POLICY, NO_STORE) if pair[0] not in names)]


def _route(scope: Any) -> str:
    """The route's pattern, so that no id ends up as a label."""
    route = scope.get("route")
    path = getattr(route, "path", None)
    if path is None:
        return "/mcp" if scope["path"] == "/mcp" else "other"
    return str(path)
