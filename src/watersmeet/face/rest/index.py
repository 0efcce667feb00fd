"""REST routes of the index: its roots, syncs, removals, and the progress of a sync."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from watersmeet.engine.sync.report import ProgressCallback, cancellable
from watersmeet.face import shapes
from watersmeet.face.index_writes import SyncParams, remove, sync
from watersmeet.face.rest.replies import answer, caller, problem_responses, reply, service_of, writer
from watersmeet.face.schema import from_body

router = APIRouter()


@router.get(
    "/api/roots",
    response_model=shapes.Roots,
    responses=problem_responses(),
    summary="List the folders and addresses that the index covers",
)
async def roots(request: Request) -> Response:
    who = caller(request)
    return await answer(request, lambda _: {"roots": service_of(request).status(who.viewer, who.is_local)["sources"]})


@router.post(
    "/api/sync",
    response_model=shapes.Synced,
    responses={
        202: {
            "model": shapes.Job,
            "description": "The sync goes on as a job; `GET /api/jobs/{job}` tells how far it is",
        },
        **problem_responses(402, 404),
    },
    summary="Bring the index up to date with its folders",
)
async def sync_roots(body: shapes.SyncBody, request: Request) -> Response:
    """Paths must lie in folders that are indexed. With `dry_run` nothing is written; `planned` names what would be,
    and `cost` says what a model on another machine would have to embed. Above `index.confirm_above` nothing is embedded
    without `confirm`: the answer has status 402 and the cost, and the words are in the index."""
    who, service = writer(request), service_of(request)
    params = from_body(SyncParams, body)

    def write(progress: ProgressCallback) -> dict[str, object]:
        return sync(service.engine, params, False, progress, who)

    if body.wait:
        return await answer(request, lambda stop: write(cancellable(stop)), writes=True)
    return reply(service.jobs.start(who.key, write).to_json(), 202)


@router.get(
    "/api/jobs/{job}",
    response_model=shapes.Job,
    responses=problem_responses(404),
    summary="Show how far a job is, and its report once it is done",
)
async def job(job: Annotated[str, Path(max_length=100, examples=["b3Zlci10aGVyZQ"])], request: Request) -> Response:
    """The job that `POST /api/sync` with `wait: false` started, for the caller who started it."""
    who, service = writer(request), service_of(request)
    found = service.jobs.get(who.key, job).to_json()
    if found["problem"] and not who.is_local:
        found["problem"] = {name: service.without_folder(text) for name, text in found["problem"].items()}
    return reply(found)


@router.post(
    "/api/remove",
    response_model=shapes.Removed,
    responses=problem_responses(404),
    summary="Remove documents, or whole roots, from the index",
)
async def remove_documents(body: shapes.RemoveBody, request: Request) -> Response:
    """Files stay where they are; the next sync of a folder that is still a root reads them again."""
    who, engine = writer(request), service_of(request).engine
    return await answer(request, lambda _: remove(engine, body.ids, who, body.dry_run), writes=True)
