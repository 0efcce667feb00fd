"""Routes of the page: a search with snippets, a document for reading, and the file that it was read from."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from watersmeet.engine.query.original import OTHER, Original
from watersmeet.face import shapes
from watersmeet.face.page_view import search_view
from watersmeet.face.rest.documents import Identity
from watersmeet.face.rest.replies import answer, caller, service_of
from watersmeet.face.schema import from_body
from watersmeet.face.search import SearchParams

router = APIRouter(include_in_schema=False)
ChunkName = Annotated[str, Query(max_length=200)]
INERT = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
"""Policy of a file: it can load and run nothing."""


@router.post("/page/search")
async def search(body: shapes.SearchBody, request: Request) -> Response:
    viewer = caller(request).viewer
    params = from_body(SearchParams, body)
    return await answer(request, lambda stop: search_view(service_of(request).search(params, viewer, stop)))


@router.get("/page/document/{identity:path}")
async def document(identity: Identity, request: Request, chunk: ChunkName = "") -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: service_of(request).read(identity, chunk, viewer))


@router.get("/file/{identity:path}")
async def file(identity: Identity, request: Request) -> Response:
    """The file of a document that the caller may see, as it was indexed."""
    viewer = caller(request).viewer
    return as_file(await service_of(request).run(lambda _: service_of(request).original(identity, viewer)))


def as_file(found: Original) -> Response:
    how = "attachment" if found.type == OTHER else "inline"
    headers = {
        "Content-Disposition": f"{how}; filename*=UTF-8''{quote(found.name, safe='')}",
        "Content-Security-Policy": INERT,
        "Cache-Control": "no-store",
    }
    return Response(found.content, 200, headers, found.type)
