"""Asking for passages and documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import PlainTextResponse, Response

from watersmeet.core.errors import IndexProblem
from watersmeet.face import shapes
from watersmeet.face.rest.replies import answer, caller, problem_responses, reply, service_of
from watersmeet.face.schema import given
from watersmeet.face.search import SearchParams
from watersmeet.face.work_queue import Busy, TooSlow

router = APIRouter()
Count = Annotated[int, Query(ge=1, le=1000, examples=[20])]
Identity = Annotated[str, Path(description="the id of a document or chunk", examples=["guide/install.md"])]


@router.post(
    "/api/search", response_model=shapes.SearchAnswer, responses=problem_responses(404, 424), summary="Find passages"
)
async def search(body: shapes.SearchBody, request: Request) -> Response:
    """The few passages that answer the query, best first, with why, and what could not run."""
    who = caller(request).viewer
    params = given(SearchParams, body)
    return await answer(request, lambda stop: service_of(request).search(params, who, stop).to_json())


@router.get("/api/documents", response_model=shapes.Documents, responses=problem_responses(), summary="List documents")
async def documents(
    request: Request, limit: Count = 100, offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0
) -> Response:
    who = caller(request).viewer

    def listing(_: object) -> dict[str, object]:
        found = service_of(request).documents(who)
        return {"documents": found[offset : offset + limit], "total": len(found)}

    return await answer(request, listing)


@router.get(
    "/api/documents/{identity:path}",
    response_model=shapes.Document,
    responses=problem_responses(404),
    summary="A document, or one chunk of it",
)
async def get(identity: Identity, request: Request) -> Response:
    who = caller(request).viewer
    return await answer(request, lambda _: service_of(request).get(identity, who))


@router.get(
    "/api/related/{identity:path}",
    response_model=shapes.SearchAnswer,
    responses=problem_responses(404),
    summary="What a document is linked with",
)
async def related(identity: Identity, request: Request, top_n: Count = 10) -> Response:
    who = caller(request).viewer
    return await answer(request, lambda _: service_of(request).related(identity, top_n, who))


@router.get(
    "/api/classify", response_model=shapes.Classified, responses=problem_responses(), summary="What sort of query it is"
)
async def classify(
    request: Request, query: Annotated[str, Query(min_length=1, max_length=512, examples=["what is error E0308?"])]
) -> Response:
    who = caller(request).viewer
    return await answer(request, lambda _: service_of(request).classify(query, who))


@router.get("/api/status", response_model=shapes.Status, responses=problem_responses(), summary="What the index holds")
async def status(request: Request) -> Response:
    who = caller(request).viewer
    return await answer(request, lambda _: service_of(request).status(who))


@router.get("/health", response_model=shapes.Health, responses=problem_responses(), summary="Whether the server runs")
async def health(request: Request) -> Response:
    """Whether there is an index that can be asked; while every question waits, that alone is no illness."""
    service = service_of(request)
    try:
        return reply({"status": await service.watch.run(lambda _: service.ready())})
    except (Busy, TooSlow):
        return reply({"status": "busy"})


@router.get("/metrics", response_class=PlainTextResponse, responses=problem_responses(), summary="For Prometheus")
async def metrics(request: Request) -> Response:
    service, who = service_of(request), caller(request).viewer
    try:
        known = await service.watch.run(lambda _: service.status(who))
    except (IndexProblem, Busy, TooSlow):  # the counts can be had all the same
        known = None
    text = service.metrics.text(known, service.work.under_way)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
