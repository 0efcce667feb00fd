"""The application: routes, what they may answer, and the door in front of them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from watersmeet import __version__
from watersmeet.core.errors import WatersmeetError
from watersmeet.face import shapes
from watersmeet.face.mcp.http import Endpoint
from watersmeet.face.rest import problems
from watersmeet.face.rest.guard import CALLER, Guard, Hosts
from watersmeet.face.service import Service
from watersmeet.face.tokens import Tokens

_JSON = re.compile(r"application/(?:[\w.-]+\+)?json")


def make(service: Service, host: str, more_hosts: tuple[str, ...] = (), tokens: Tokens | None = None) -> Guard:
    """All that `watersmeet serve` serves."""
    from watersmeet.face.rest import documents, page, registry

    inner = FastAPI(
        title="watersmeet",
        version=__version__,
        summary="Several kinds of search vote, and every rank is explained.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    inner.state.service = service
    endpoint = Endpoint(service, CALLER)
    inner.state.endpoint = endpoint
    inner.router.routes.append(Route("/mcp", endpoint))
    for part in (documents, registry, page):
        inner.include_router(part.router)
    inner.openapi = partial(_told, inner.openapi)  # type: ignore[method-assign] # FastAPI's own way to add to it
    inner.add_exception_handler(RequestValidationError, _misformed)
    inner.add_exception_handler(HTTPException, _refused)
    inner.add_exception_handler(WatersmeetError, _failed)
    inner.add_exception_handler(problems.Refused, _stopped_at_the_door)
    inner.add_exception_handler(Exception, _defect)
    return Guard(
        inner,
        hosts=Hosts(host, more_hosts),
        tokens=tokens or Tokens(),
        limits=service.limits,
        metrics=service.metrics,
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with app.state.endpoint.running():
        yield
    app.state.service.background.close()  # here, since a signal may end the process right behind it


def _told(usual: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What every route shares: how errors look, and that a token may be needed."""
    spec = usual()
    parts = spec["components"]
    parts["schemas"]["Problem"] = shapes.Problem.model_json_schema()
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    spec["security"] = [{}, {"token": []}]
    return spec


async def _misformed(request: Request, error: Exception) -> Response:
    """Which value is wrong and why; never the value."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - for the type checker
    sent = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if any(one["loc"] == ("body",) for one in error.errors()) and not _JSON.fullmatch(sent):
        detail = f"the body is sent as {sent[:80]!r}" if sent else "the body is sent without a type"
        return problems.problem(415, detail, "send it with `Content-Type: application/json`")
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        return problems.problem(400, "the body is not JSON", "see /openapi.json for what it should be")
    said = [{"where": ".".join(str(part) for part in one["loc"]), "reason": one["msg"]} for one in found]
    unknown = [str(one["loc"][-1]) for one in found if one["type"] == "extra_forbidden"]
    detail = f"unknown: {', '.join(unknown)}" if unknown else f"{said[0]['where']}: {said[0]['reason']}"
    return problems.problem(422, detail, "see /openapi.json", errors=said)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker
    return problems.problem(error.status_code, str(error.detail), "see /openapi.json", error.headers)


async def _stopped_at_the_door(_: Request, error: Exception) -> Response:
    assert isinstance(error, problems.Refused)  # noqa: S101 - for the type checker
    return problems.refusal(error)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, WatersmeetError)  # noqa: S101 - for the type checker
    said = problems.of(error)
    if not request.scope[CALLER].is_local:
        service: Service = request.app.state.service
        said.body = service.without_folder(bytes(said.body).decode()).encode()
        said.headers["content-length"] = str(len(said.body))
    return said


async def _defect(_: Request, error: Exception) -> Response:
    return problems.defect(error)
