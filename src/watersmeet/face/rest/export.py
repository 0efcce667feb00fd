"""REST routes of an export, under short names: /search, /chat, /chunks, /sources, /stats. They are the calls of
/api/search and /api/chat, so they answer alike."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from watersmeet.face import shapes
from watersmeet.face.export_service import ExportService
from watersmeet.face.rest.answers import chat as chat_route
from watersmeet.face.rest.documents import Count, Identity
from watersmeet.face.rest.documents import search as search_route
from watersmeet.face.rest.replies import answer, caller, problem_responses, service_of
from watersmeet.face.search import SearchParams

router = APIRouter()
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]


class Source(BaseModel):
    """A folder or address that documents came from."""

    source: str


class Sources(shapes.Documents):
    sources: list[Source]


class Stats(shapes.Status):
    model_config = ConfigDict(extra="allow")
    recipe: str
    query_classification: bool
    fusion: str
    made: str


def export_of(request: Request) -> ExportService:
    service = service_of(request)
    assert isinstance(service, ExportService)  # noqa: S101 - these routes exist for exports only
    return service


@router.get(
    "/search", response_model=shapes.SearchAnswer, responses=problem_responses(404, 424), summary="Find passages"
)
async def search(
    request: Request,
    query: shapes.Query,
    top_n: Count = 10,
    mode: Annotated[str, Query(max_length=20)] = "",
    explain: bool = False,
) -> Response:
    viewer, params = caller(request).viewer, SearchParams(query, mode=mode, top_n=top_n, explain=explain)
    return await answer(request, lambda stop: service_of(request).search(params, viewer, stop).to_json())


router.add_api_route(
    "/search",
    search_route,
    methods=["POST"],
    response_model=shapes.SearchAnswer,
    responses=problem_responses(404, 424),
    summary="Find passages, with all parameters",
)


router.add_api_route(
    "/chat",
    chat_route,
    methods=["POST"],
    response_model=shapes.ChatAnswer,
    responses=problem_responses(404),
    summary="Answer a question, with citations",
)


@router.get(
    "/chunks/{identity:path}",
    response_model=shapes.Document,
    responses=problem_responses(404),
    summary="Read a passage",
)
async def chunk(identity: Identity, request: Request) -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: service_of(request).get(identity, viewer))


@router.get("/sources", response_model=Sources, responses=problem_responses(), summary="Show what is in the index")
async def sources(request: Request, limit: Count = 100, offset: Offset = 0) -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: export_of(request).sources(viewer, offset, limit))


@router.get("/stats", response_model=Stats, responses=problem_responses(), summary="Show figures of the index")
async def stats(request: Request) -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: export_of(request).stats(viewer))
