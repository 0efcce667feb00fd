"""REST routes for programs that ask several engines: the search in fewer fields, what it can do, its health."""

from __future__ import annotations

from threading import Event
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from watersmeet import __version__
from watersmeet.core.visibility import Viewer
from watersmeet.engine.query.modes import MODES
from watersmeet.engine.settings.settings import recipes
from watersmeet.face import shapes
from watersmeet.face.rest.health import health
from watersmeet.face.rest.replies import answer, caller, problem_responses, service_of
from watersmeet.face.schema import from_body
from watersmeet.face.search import SearchParams
from watersmeet.face.service import MAX_QUERY_LENGTH, Service

router = APIRouter()
MAX_RESULTS = 1000
KEPT = ("query", "mode", "confidence", "no_good_match", "failures", "took_ms")
_RESULT = ("id", "document", "kind", "title", "headings", "path", "where", "lines", "score", "similarity")


@router.post(
    "/v1/search",
    response_model=shapes.FederatedAnswer,
    responses=problem_responses(404, 424),
    summary="Find passages, for a program that asks several engines",
)
async def search(body: shapes.SearchBody, request: Request) -> Response:
    """The request of `/api/search`. `degraded`: a signal of the recipe could not run, and `failures` says which."""
    viewer = caller(request).viewer
    params = from_body(SearchParams, body)

    def work(stop: Event) -> dict[str, Any]:
        found = service_of(request).search(params, viewer, stop).to_json()
        results = [{name: one[name] for name in _RESULT} | {"content": one["text"]} for one in found["results"]]
        return {
            **{name: found[name] for name in KEPT},
            "results": results,
            "total": len(results),
            "degraded": bool(found["failures"]),
        }

    return await answer(request, work)


@router.get(
    "/v1/search/capabilities",
    response_model=shapes.Capabilities,
    responses=problem_responses(),
    summary="Show what a search can do here",
)
async def capabilities(request: Request) -> Response:
    viewer = caller(request).viewer
    return await answer(request, lambda _: _capabilities(service_of(request), viewer))


def _capabilities(service: Service, viewer: Viewer) -> dict[str, Any]:
    status = service.status(viewer)
    signals = {name: one["coverage"] for name, one in status["signals"].items()}
    return {
        "name": "watersmeet",
        "version": __version__,
        "modes": list(MODES),
        "default_mode": "hybrid" if {"static", "dense"} & signals.keys() else "lexical",
        "recipes": list(recipes()),
        "recipe": service.engine.settings.recipe,
        "signals": signals,
        "documents": status["documents"],
        "chunks": status["chunks"],
        "kinds": status["kinds"],
        "max_results": MAX_RESULTS,
        "max_query_length": MAX_QUERY_LENGTH,
        "request": list(shapes.SearchBody.model_fields),
        "score": {"least": 0.0, "most": 1.0, "comparable_between_queries": False},
    }


router.get(
    "/v1/health", response_model=shapes.Health, responses=problem_responses(), summary="Health check; as /health"
)(health)
