"""REST routes for whoever runs the server: liveness, readiness and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from watersmeet.core.errors import IndexProblem
from watersmeet.face import shapes
from watersmeet.face.rest.problems import problem
from watersmeet.face.rest.replies import caller, problem_responses, reply, service_of
from watersmeet.face.work_queue import Busy, TooSlow

router = APIRouter()
HEALTH_SECONDS = 0.5
"""How long the answer to "are you alive?" waits for what is known of the index."""
NOT_READY = {
    "starting": ("the folder is being indexed; nothing is there yet", "ask again in a moment"),
    "busy": ("the index did not answer in time", "ask again in a moment; look at the disk of the index"),
}


@router.get(
    "/health", response_model=shapes.Health, responses=problem_responses(), summary="Whether the server is alive"
)
async def health(request: Request) -> Response:
    """Always 200 while the server answers. `status` is `ok` if it can answer searches too; `/ready` says why not."""
    found = await service_of(request).probe.now(HEALTH_SECONDS)
    return reply({"status": "ok" if found.ready else found.state})


@router.get(
    "/ready",
    response_model=shapes.Ready,
    responses=problem_responses(),
    summary="Whether the server can answer, part by part",
)
async def ready(request: Request) -> Response:
    """200 if searches can be answered, else 503. A part that is not `required` may fail: answers then say so.

    Details are for callers with a token or on the server's machine."""
    service, who = service_of(request), caller(request)
    found = await service.probe.now()
    content = found.to_json(details=who.is_local or bool(who.token))
    if found.ready:
        response = reply(content)
    else:
        part = found.problem
        detail, hint = (part.detail, part.hint) if part else NOT_READY[found.state]
        response = problem(503, detail, hint, {"Retry-After": "1"}, error="IndexProblem", **content)
    if not who.is_local:
        response.body = service.without_folder(bytes(response.body).decode()).encode()
        response.headers["content-length"] = str(len(response.body))
    return response


@router.get(
    "/metrics", response_class=PlainTextResponse, responses=problem_responses(), summary="Metrics for Prometheus"
)
async def metrics(request: Request) -> Response:
    service, viewer = service_of(request), caller(request).viewer
    try:
        index_status = await service.watch.run(lambda _: service.status(viewer))
    except (IndexProblem, Busy, TooSlow):  # the server's own counts are available all the same
        index_status = None
    text = service.metrics.text(index_status, service.work.under_way)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
