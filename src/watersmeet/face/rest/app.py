"""The HTTP application: routes, error handlers and the guard around them."""

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
from watersmeet.face.access_log import AccessLog
from watersmeet.face.mcp.http import Endpoint
from watersmeet.face.rest import problems
from watersmeet.face.rest.guard import CALLER, Guard, Hosts
from watersmeet.face.service import Service
from watersmeet.face.tokens import Tokens

_JSON = re.compile(r"application/(?:[\w.-]+\+)?json")


def make(
    service: Service,
    host: str,
    more_hosts: tuple[str, ...] = (),
    tokens: Tokens | None = None,
    log: AccessLog | None = None,
) -> Guard:
    """The whole application of `watersmeet serve`."""
    from watersmeet.face.rest import (
        answers,
        documents,
        federation,
        health,
        index,
        page,
        reading,
        registry,
        registry_checks,
    )

    inner = FastAPI(
        title="watersmeet",
        version=__version__,
        summary="Hybrid search over local documents; every rank is explained.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    inner.state.service = service
    endpoint = Endpoint(service, CALLER)
    inner.state.endpoint = endpoint
    inner.router.routes.append(Route("/mcp", endpoint))
    for part in (documents, answers, registry, registry_checks, index, reading, federation, health, page):
        inner.include_router(part.router)
    if service.is_export:
        from watersmeet.face.rest import export

        inner.include_router(export.router)
    inner.openapi = partial(_with_shared_parts, inner.openapi)  # type: ignore[method-assign] # FastAPI's own way to add to it
    inner.add_exception_handler(RequestValidationError, _invalid_request)
    inner.add_exception_handler(HTTPException, _http_error)
    inner.add_exception_handler(WatersmeetError, _failed)
    inner.add_exception_handler(problems.Refused, _guard_refusal)
    inner.add_exception_handler(Exception, _defect)
    return Guard(
        inner,
        hosts=Hosts(host, more_hosts),
        tokens=tokens or Tokens(),
        limits=service.limits,
        metrics=service.metrics,
        log=log,
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with app.state.endpoint.running():
        yield
    app.state.service.background.close()  # here, since a signal may end the process right after this


def _with_shared_parts(usual: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The OpenAPI document with what all routes share: the format of errors, and the optional token."""
    spec = usual()
    parts = spec["components"]
    parts["schemas"]["Problem"] = shapes.Problem.model_json_schema()
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    spec["security"] = [{}, {"token": []}]
    return spec


async def _invalid_request(request: Request, error: Exception) -> Response:
    """An error that says which field is wrong and why, without repeating its value."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - for the type checker
    sent = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if any(one["loc"] == ("body",) for one in error.errors()) and not _JSON.fullmatch(sent):
        detail = f"the body has the type {sent[:80]!r}" if sent else "the body has no content type"
        return problems.problem(415, detail, "send it with `Content-Type: application/json`")
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        return problems.problem(400, "the body is not JSON", "see /openapi.json for its schema")
    errors = [{"where": ".".join(str(part) for part in one["loc"]), "reason": one["msg"]} for one in found]
    unknown = [str(one["loc"][-1]) for one in found if one["type"] == "extra_forbidden"]
    detail = f"unknown: {', '.join(unknown)}" if unknown else f"{errors[0]['where']}: {errors[0]['reason']}"
    return problems.problem(422, detail, "see /openapi.json for the fields", errors=errors)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker
    return problems.problem(error.status_code, str(error.detail), "see /openapi.json", error.headers)


async def _guard_refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, problems.Refused)  # noqa: S101 - for the type checker
    return problems.refusal(error)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, WatersmeetError)  # noqa: S101 - for the type checker
    response = problems.of(error)
    if not request.scope[CALLER].is_local:
        service: Service = request.app.state.service
        response.body = service.without_folder(bytes(response.body).decode()).encode()
        response.headers["content-length"] = str(len(response.body))
    return response


async def _defect(_: Request, error: Exception) -> Response:
    return problems.defect(error)
