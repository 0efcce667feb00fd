"""Requests to one server: its address, its token, and its errors as exceptions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from watersmeet.common import http
from watersmeet.common.http import Cancellation
from watersmeet.common.redaction import shown
from watersmeet.common.server_sent_events import Event, EventTooLarge, events
from watersmeet.core import errors
from watersmeet.core.errors import ConfigError, NoReply, NotAllowed, Unreachable, WatersmeetError

ADDRESS = "http://127.0.0.1:7878"
"""Where `watersmeet serve` is, unless it was told otherwise."""
LONG_SECONDS = 660.0
"""Timeout of a write and of each wait for an answer's text: a little more than a server allows for them."""
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
_KINDS: Mapping[int, type[WatersmeetError]] = {
    400: ConfigError,
    401: NotAllowed,
    403: NotAllowed,
    404: errors.NotFound,
    409: errors.VersionConflict,
    422: ConfigError,
    424: errors.Degraded,
}
_NO_SERVER = "start one with `watersmeet serve --index DIR`, or name the address of another"
_OTHER_SERVER = "is this the address of a `watersmeet serve`?"


class Json(dict[str, Any]):
    """A JSON object; a key that it lacks is an error of the server."""

    def __missing__(self, key: str) -> Any:
        raise NoReply(f"the server's answer has no {key!r}", _OTHER_SERVER)


@dataclass(frozen=True, slots=True)
class Transport:
    """Requests to one server. Only reads are retried, and only if the connection breaks."""

    url: str
    token: str = field(repr=False)
    timeout: float
    retries: int
    cancellation: Cancellation = field(default_factory=Cancellation, repr=False)

    def cancelled_by(self, cancellation: Cancellation) -> Transport:
        return replace(self, cancellation=cancellation)

    def read(self, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Json:
        """The JSON of a GET, or with a body of a POST."""
        sent = f"?{urlencode(query, doseq=True)}" if query else ""
        return self._json("GET" if body is None else "POST", path + sent, body, self.timeout, self.retries)

    def write(self, method: str, path: str, body: Any = None) -> Json:
        return self._json(method, path, body, max(self.timeout, LONG_SECONDS), 0)

    def stream(self, path: str, body: Any) -> Iterator[tuple[str, Json]]:
        """Server-sent events of a POST: the name and the JSON of each. An event called `error` is raised."""
        seconds = max(self.timeout, LONG_SECONDS)
        client = http.Client(None, seconds, math.inf, retries=0, retry_statuses=frozenset())
        headers = {**self._headers, "Accept": "text/event-stream"}
        with _explained():
            opened = client.stream(self.url + path, _encoded(body), headers, self.cancellation)
            if isinstance(opened, http.Reply):
                raise self._error(opened)
            with opened:
                try:
                    for event in events(opened, client.max_bytes):
                        yield event.name, self._event(event)
                except EventTooLarge:
                    raise NoReply(f"{shown(self.url)} sent an event that is too large", _OTHER_SERVER) from None

    def _json(self, method: str, path: str, body: Any, seconds: float, retries: int) -> Json:
        client = http.Client(None, seconds, seconds, retries, backoff=0.1, redirects=0, retry_statuses=frozenset())
        content = None if body is None else _encoded(body)
        with _explained():
            reply = client.send(method, self.url + path, content, self._headers, self.cancellation)
        if not 200 <= reply.status < 300:
            raise self._error(reply)
        try:
            return Json(json.loads(reply.body))
        except (ValueError, TypeError):
            raise NoReply(f"{shown(reply.url)} answered something that is not JSON", _OTHER_SERVER) from None

    @property
    def _headers(self) -> dict[str, str]:
        return {**_JSON, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}

    def _event(self, event: Event) -> Json:
        try:
            value = Json(json.loads(event.data))
        except (ValueError, TypeError):
            raise NoReply(f"{shown(self.url)} sent an event that is not JSON", _OTHER_SERVER) from None
        if event.name == "error":
            raise self._problem(value)
        return value

    def _error(self, reply: http.Reply) -> WatersmeetError:
        """The exception that a reply stands for."""
        try:
            return self._problem(Json(json.loads(reply.body)))
        except (ValueError, TypeError, NoReply):
            return NoReply(reply.error, _OTHER_SERVER)

    def _problem(self, problem: Json) -> WatersmeetError:
        status, detail, hint = int(problem["status"]), str(problem["detail"]), str(problem.get("hint", ""))
        if status == 401 and not self.token:
            hint = "pass it as `token=`; `watersmeet token create` makes one"
        named = _named(str(problem.get("error", "")))
        kind = NotAllowed if status in (401, 403) else named or _KINDS.get(status, NoReply)
        return kind(detail, hint)


def _named(name: str) -> type[WatersmeetError] | None:
    """The exception class of this name, if it is made of a message and a hint."""
    found = getattr(errors, name, None)
    if not isinstance(found, type) or not issubclass(found, WatersmeetError):
        return None
    return found if found.__init__ is WatersmeetError.__init__ else None


@contextmanager
def _explained() -> Iterator[None]:
    """A failed connection says how to start a server."""
    try:
        yield
    except Unreachable as error:
        raise Unreachable(str(error), _NO_SERVER) from None


def _encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


def segment(identity: str) -> str:
    """An id or a path as the rest of a URL; its slashes stay."""
    if not identity:
        raise errors.NotFound("no document or chunk called ''", "name one")
    return quote(identity, safe="/")
