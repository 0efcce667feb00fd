"""REST routes that check the registry: duplicates, descriptions to be read, embeddings; and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from starlette.responses import Response

from watersmeet.engine.sync.report import cancellable
from watersmeet.face import registry_writes, shapes
from watersmeet.face.rest.registry import Address
from watersmeet.face.rest.replies import answer, caller, problem_responses, service_of, writer

router = APIRouter()
Share = Annotated[float, Query(ge=0, le=1, description="share of common words from which a near duplicate is listed")]
MIN_ALIKE = 0.6


@router.post(
    "/api/check-duplicates",
    response_model=shapes.Duplicates,
    responses=problem_responses(),
    summary="Show which registered entities records would repeat",
)
async def check_duplicates(
    request: Request,
    records: Annotated[
        list[dict[str, Any]] | dict[str, Any],
        Body(description="one record or several", examples=[shapes.EXAMPLE]),
    ],
    min_score: Share = MIN_ALIKE,
) -> Response:
    """For each record the entities with its path, name or content, and those that say almost the same. Nothing is
    registered."""
    who = caller(request)
    found = [records] if isinstance(records, dict) else records
    registry = service_of(request).engine.registry
    return await answer(request, lambda _: registry.check_duplicates(found, min_score=min_score, viewer=who.viewer))


@router.get(
    "/api/embeddings",
    response_model=shapes.EmbeddingState,
    responses=problem_responses(),
    summary="List entities and tools with a missing or stale vector",
)
async def embeddings(request: Request) -> Response:
    who = caller(request).viewer
    return await answer(request, lambda _: service_of(request).engine.registry.embeddings(who))


@router.post(
    "/api/reindex",
    response_model=shapes.Reindexed,
    responses=problem_responses(404),
    summary="Make the documents and vectors of entities anew",
)
async def reindex(body: shapes.ReindexBody, request: Request) -> Response:
    """Of these entities, or without paths of all that the caller may see."""
    who, engine = writer(request), service_of(request).engine
    return await answer(
        request,
        lambda stop: registry_writes.reindex(engine, body.paths, who.viewer, cancellable(stop)),
        writes=True,
    )


@router.get(
    "/api/review",
    response_model=shapes.Review,
    responses=problem_responses(),
    summary="List descriptions that have changed, or read like instructions to an agent",
)
async def review(request: Request) -> Response:
    """For tokens that may write. A description is flagged in searches until its present text is accepted."""
    who = writer(request)
    return await answer(request, lambda _: {"descriptions": service_of(request).engine.registry.review(who.viewer)})


@router.post(
    "/api/review",
    response_model=shapes.Accepted,
    responses=problem_responses(404),
    summary="Accept a description as it was read",
)
async def accept(body: shapes.AcceptBody, request: Request) -> Response:
    """`hash` is that of the text that was read; if it has changed since, this is an error."""
    who, registry = writer(request), service_of(request).engine.registry

    def work(_: object) -> dict[str, str]:
        registry.accept(body.id, body.hash, who.viewer)
        return {"accepted": body.id}

    return await answer(request, work, writes=True)


@router.get(
    "/api/provenance/{path:path}",
    response_model=shapes.Provenance,
    responses=problem_responses(404),
    summary="Show where an entity came from, and when",
)
async def provenance(path: Address, request: Request) -> Response:
    who, engine = caller(request).viewer, service_of(request).engine
    return await answer(
        request, lambda _: engine.registry.provenance(registry_writes.registered_path(engine, path, who) or path, who)
    )


@router.get(
    "/api/audit", response_model=shapes.AuditLog, responses=problem_responses(), summary="Show who changed what"
)
async def audit(
    request: Request,
    since: Annotated[str, Query(max_length=40, examples=["7d"])] = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """The last change first. For tokens that may write: their own changes, and those of what they may see."""
    who, engine = writer(request), service_of(request).engine
    return await answer(request, lambda _: {"entries": engine.audit(since, limit, who.viewer, who.token)})
