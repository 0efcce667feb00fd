"""What all routes share: who asks, work off the event loop, and what may come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from watersmeet.core.errors import nearest
from watersmeet.face.backend_addresses import without_backends
from watersmeet.face.rest import problems
from watersmeet.face.rest.guard import CALLER
from watersmeet.face.rest.problems import Refused
from watersmeet.face.search import without_paths
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller

JSON = "application/json"
GONE = 499
"""Nobody is there to read it."""


def caller(request: Request) -> Caller:
    found: Caller = request.scope[CALLER]
    return found


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, headers, JSON)


def writer(request: Request) -> Caller:
    """Who asks, if they may change something."""
    who = caller(request)
    if not service_of(request).allow_write:
        raise Refused(403, "this server only reads", "start it with --allow-write")
    if who.scope != "write":
        hint = "`watersmeet token create --scope write` makes a token that may"
        raise Refused(403, "this needs a token with the scope write", hint)
    return who


async def answer(request: Request, work: Callable[[Event], Any], writes: bool = False) -> Response:
    """Work off the event loop for as long as the asker is there."""
    _known_parameters(request)
    working = asyncio.ensure_future(service_of(request).run(work, writes))
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return Response(status_code=GONE)
        found, who = working.result(), caller(request)
        found = found if who.is_local else without_paths(found)
        return reply(found if who.scope == "write" else without_backends(found))
    finally:
        working.cancel()
        gone.cancel()


def _known_parameters(request: Request) -> None:
    """A parameter that nobody reads is a mistake that its sender should hear of."""
    dependant = getattr(request.scope.get("route"), "dependant", None)
    fields = dependant.query_params if dependant else []
    models = [field.field_info.annotation for field in fields]
    if any(isinstance(model, type) and issubclass(model, BaseModel) for model in models):
        return  # which refuses what it does not name
    known = [field.alias for field in fields]
    for name in request.query_params:
        if name not in known:
            hint = nearest(name, known) if known else "it takes none"
            raise Refused(422, f"no parameter called {name[:80]!r}", hint)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        status: {
            "description": problems.TITLES[status],
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in (400, 401, 403, 413, 415, 422, 429, 503, *statuses)
    }
