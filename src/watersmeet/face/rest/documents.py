"""REST routes for search, documents and status."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from watersmeet.face import shapes
from watersmeet.face.listing import ListParams, TagParams
from watersmeet.face.quality import quality as measured_quality
from watersmeet.face.rest.replies import answer, caller, problem_responses, service_of
from watersmeet.face.schema import from_body
from watersmeet.face.search import SearchParams

router = APIRouter()
Count = Annotated[int, Query(ge=1, le=1000, examples=[20])]
Identity = Annotated[str, Path(description="the id of a document or chunk", examples=["guide/install.md"])]


@router.post(
    "/api/search", response_model=shapes.SearchAnswer, responses=problem_responses(404, 424), summary="Find passages"
)
async def search(body: shapes.SearchBody, request: Request) -> Response:
    """The passages that answer the query, best first, with the evidence for each, and the signals that failed."""
    viewer = caller(request).viewer
    params = from_body(SearchParams, body)
    return await answer(request, lambda stop: service_of(request).search(params, viewer, stop).to_json())


@router.get("/api/documents", response_model=shapes.Documents, responses=problem_responses(), summary="List documents")
async def documents(request: Request, query: Annotated[shapes.ListQuery, Query()]) -> Response:
    """The documents that pass the filters; `total` is their number."""
    viewer = caller(request).viewer
    params = from_body(ListParams, query)

    def listing(_: object) -> dict[str, object]:
        found = service_of(request).documents(viewer, params)
        return {"documents": found[query.offset : query.offset + query.limit], "total": len(found)}

    return await answer(request, listing)


@router.get("/api/tags", response_model=shapes.DocumentTags, responses=problem_responses(), summary="List tags")
async def tags(request: Request, query: Annotated[shapes.TagQuery, Query()]) -> Response:
    """The tags of the documents that pass the filters, the commonest first."""
    viewer = caller(request).viewer
    params = from_body(TagParams, query)
    return await answer(request, lambda _: {"tags": service_of(request).tags(viewer, params)})


@router.get(
    "/api/documents/{identity:path}",
    response_model=shapes.Document,
    responses=problem_responses(404),
    summary="Read a document, or one chunk of it",
)
async def get(identity: Identity, request: Request) -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: service_of(request).get(identity, viewer))


@router.get(
    "/api/related/{identity:path}",
    response_model=shapes.SearchAnswer,
    responses=problem_responses(404),
    summary="List the documents that a document is linked with",
)
async def related(identity: Identity, request: Request, top_n: Count = 10) -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: service_of(request).related(identity, top_n, viewer))


@router.get(
    "/api/classify", response_model=shapes.Classified, responses=problem_responses(), summary="Classify a query"
)
async def classify(
    request: Request, query: Annotated[str, Query(min_length=1, max_length=512, examples=["what is error E0308?"])]
) -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: service_of(request).classify(query, viewer))


@router.get(
    "/api/status", response_model=shapes.Status, responses=problem_responses(), summary="Show what the index contains"
)
async def status(request: Request) -> Response:
    who = caller(request)
    return await answer(request, lambda _: service_of(request).status(who.viewer, who.is_local))


@router.get(
    "/api/quality",
    response_model=shapes.Quality,
    responses=problem_responses(),
    summary="Show the last evaluation, and the weights that use has taught",
)
async def quality(request: Request) -> Response:
    """The evaluation, with its queries, is for the owner of the index: a caller on this machine without a token."""
    who = caller(request)
    is_owner = who.is_local and who.scope == "write" and not who.token
    return await answer(request, lambda _: measured_quality(service_of(request).engine, who.viewer, is_owner))
