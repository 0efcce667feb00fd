"""Helpers that all routes share: the caller, work off the event loop, and what is removed from answers."""

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
from watersmeet.face.rest import problems
from watersmeet.face.rest.guard import CALLER
from watersmeet.face.rest.problems import Refused
from watersmeet.face.search import without_paths
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller
from watersmeet.present.backend_addresses import without_backends

JSON = "application/json"
GONE = 499
"""The status for the log when the client has disconnected."""


def caller(request: Request) -> Caller:
    found: Caller = request.scope[CALLER]
    return found


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, headers, JSON)


def writer(request: Request) -> Caller:
    """The caller, if it may write; else an error."""
    who = caller(request)
    if not service_of(request).allow_write:
        raise Refused(403, "this server is read-only", "start it with --allow-write")
    if who.scope != "write":
        hint = "`watersmeet token create --scope write` creates one"
        raise Refused(403, "this needs a token with the scope write", hint)
    return who


async def answer(
    request: Request, work: Callable[[Event], Any], writes: bool = False, answers: bool = False
) -> Response:
    """Run work off the event loop, and cancel it when the client disconnects."""
    _check_parameters(request)
    working = asyncio.ensure_future(service_of(request).run(work, writes, answers))
    gone = asyncio.ensure_future(disconnected(request))
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


def _check_parameters(request: Request) -> None:
    """An error for query parameters that the route does not have."""
    dependant = getattr(request.scope.get("route"), "dependant", None)
    parts = [dependant, *dependant.dependencies] if dependant else []
    fields = [field for part in parts for field in part.query_params]
    models = [field.field_info.annotation for field in fields]
    if any(isinstance(model, type) and issubclass(model, BaseModel) for model in models):
        return  # the model refuses unknown fields itself
    valid = [field.alias for field in fields]
    for name in request.query_params:
        if name not in valid:
            hint = nearest(name, valid) if valid else "this route takes no parameters"
            raise Refused(422, f"no parameter called {name[:80]!r}", hint)


async def disconnected(request: Request) -> None:
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
