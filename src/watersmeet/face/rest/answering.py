"""What all routes share: who asks, work off the event loop, and what may come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from watersmeet.face.rest import problems
from watersmeet.face.rest.guard import CALLER
from watersmeet.face.rest.problems import Refused
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


async def answer(request: Request, work: Callable[[Event], Any], seconds: float | None = None) -> Response:
    """Work off the event loop for as long as the asker is there."""
    working = asyncio.ensure_future(service_of(request).run(work, seconds))
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return Response(status_code=GONE)
        return reply(working.result())
    finally:
        working.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        status: {
            "description": problems.TITLES[status],
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in (400, 401, 403, 413, 422, 429, 503, *statuses)
    }
