"""REST routes of the registry: servers, tools, agents and skills."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from starlette.responses import Response

from watersmeet.core.entities import AGENT, SERVER
from watersmeet.engine.registry.requests import EntityRequest, ToolRequest
from watersmeet.engine.sync.report import ProgressCallback, cancellable
from watersmeet.face import registry_writes, shapes
from watersmeet.face.rest.replies import answer, caller, problem_responses, service_of, writer
from watersmeet.face.schema import from_body

router = APIRouter()
SearchText = Annotated[
    str, Query(max_length=512, description="text anywhere in the record, ignoring case", examples=["weather"])
]
Address = Annotated[str, Path(description="the path of the entity in the registry", examples=["weather"])]
TypeName = Annotated[str, Query(max_length=50, description="only this type; default: all", examples=["skill"])]
IncludeFlag = Annotated[bool, Query()]
MetadataFields = Annotated[
    list[str], Query(max_length=50, description="only these fields of the metadata, with dots for inner ones")
]


@router.post(
    "/api/search/semantic",
    response_model=shapes.GroupedAnswer,
    responses=problem_responses(424),
    summary="Find servers, tools, agents and skills",
)
async def semantic(body: shapes.SemanticBody, request: Request) -> Response:
    """The best entities of all kinds, in groups, each server with those of its tools that match."""
    who = caller(request)

    def work(stop: Event) -> dict[str, Any]:
        return service_of(request).entities(from_body(EntityRequest, body, **who.asks, stop=stop.is_set))

    return await answer(request, work)


@router.get(
    "/api/find-tools", response_model=shapes.Tools, responses=problem_responses(424), summary="Find tools for a task"
)
async def find_tools(request: Request, query: Annotated[shapes.ToolQuery, Query()]) -> Response:
    who = caller(request)

    def work(stop: Event) -> dict[str, Any]:
        return service_of(request).find_tools(from_body(ToolRequest, query, **who.asks, stop=stop.is_set))

    return await answer(request, work)


def _choice(
    query: SearchText = "",
    include_deprecated: IncludeFlag = False,
    include_draft: IncludeFlag = False,
    include_disabled: IncludeFlag = False,
    metadata_fields: MetadataFields = [],  # noqa: B006 - FastAPI copies it
) -> dict[str, Any]:
    """What a list has: the options of `Registry.listing`."""
    return {
        "query": query,
        "include_deprecated": include_deprecated,
        "include_draft": include_draft,
        "include_disabled": include_disabled,
        "metadata_fields": metadata_fields,
    }


Choice = Annotated[dict[str, Any], Depends(_choice)]


async def _listed(request: Request, name: str, kind: str, choice: dict[str, Any]) -> Response:
    who = caller(request).viewer

    def work(_: object) -> dict[str, Any]:
        found = service_of(request).engine.registry.listing(kind, viewer=who, **choice)
        return {name: found, "total": len(found)}

    return await answer(request, work)


def _listing(path: str, kind: str, name: str, shape: type[Any]) -> None:
    async def listing(request: Request, choice: Choice) -> Response:
        return await _listed(request, name, kind, choice)

    listing.__name__ = name
    summary = f"List {name}, optionally by a text they contain"
    router.get(path, response_model=shape, responses=problem_responses(), summary=summary)(listing)


_listing("/api/servers", SERVER, "servers", shapes.Servers)
_listing("/api/agents", AGENT, "agents", shapes.Agents)


@router.get(
    "/api/entities",
    response_model=shapes.Entities,
    responses=problem_responses(),
    summary="List entities, optionally of one type and by a text they contain",
)
async def entities(request: Request, choice: Choice, type: TypeName = "") -> Response:
    return await _listed(request, "entities", type, choice)


@router.get(
    "/api/skills/search", response_model=shapes.Skills, responses=problem_responses(), summary="Find skills by words"
)
async def skills(
    request: Request, q: Annotated[str, Query(min_length=1, max_length=512, examples=["pdf forms"])]
) -> Response:
    who = caller(request).viewer

    def work(_: object) -> dict[str, Any]:
        found = service_of(request).engine.registry.skills_search(q, who)
        return {"skills": found, "total": len(found)}

    return await answer(request, work)


@router.get("/api/search/tags", response_model=shapes.Tags, responses=problem_responses(), summary="List all tags")
async def tags(request: Request) -> Response:
    who = caller(request).viewer
    return await answer(request, lambda _: {"tags": service_of(request).engine.registry.tags(who)})


@router.get("/api/stats", response_model=shapes.Stats, responses=problem_responses(), summary="Count the entities")
async def stats(request: Request) -> Response:
    """Entities of each kind, and the collection of a shared database that has their vectors."""
    who = caller(request).viewer
    return await answer(request, lambda _: service_of(request).engine.registry.statistics(who))


# ---------------------------------------------------------------- one entity, and changing it


@router.get(
    "/api/entities/{path:path}",
    response_model=shapes.Entity,
    responses=problem_responses(404),
    summary="Read an entity, or one tool of a server (SERVER%23TOOL)",
)
async def entity(path: Address, request: Request) -> Response:
    who = caller(request).viewer
    return await answer(request, lambda _: registry_writes.get(service_of(request).engine, path, who))


@router.get(
    "/api/servers/{path:path}/configuration",
    response_model=shapes.ServerConfiguration,
    responses=problem_responses(404),
    summary="Show how to connect to a server: `mcpServers` JSON for the settings of an MCP client",
)
async def configuration(path: Address, request: Request) -> Response:
    """Secrets are placeholders. Addresses of backends are left out for tokens that may only read."""
    who = caller(request)
    engine = service_of(request).engine
    return await answer(
        request, lambda _: registry_writes.configuration(engine, path, who.viewer, who.scope == "write")
    )


async def _written(request: Request, work: Callable[[ProgressCallback], Any]) -> Response:
    """A write that is cancelled at its next progress callback once the client has gone."""
    return await answer(request, lambda stop: work(cancellable(stop)), writes=True)


@router.post(
    "/api/entities", response_model=shapes.Registered, responses=problem_responses(), summary="Register entities"
)
async def register(
    request: Request,
    records: Annotated[
        list[dict[str, Any]] | dict[str, Any],
        Body(description="one record or several", examples=[shapes.EXAMPLE]),
    ],
) -> Response:
    """Entities whose path is registered already are replaced. Searches find the new ones at once."""
    who = writer(request)
    found = [records] if isinstance(records, dict) else records
    engine = service_of(request).engine
    return await _written(request, lambda progress: registry_writes.register(engine, found, who.viewer, progress))


@router.put(
    "/api/entities/{path:path}",
    response_model=shapes.Registered,
    responses=problem_responses(404),
    summary="Register or replace the entity of this path",
)
async def put(
    path: Address, request: Request, record: Annotated[dict[str, Any], Body(examples=[shapes.EXAMPLE])]
) -> Response:
    who = writer(request)
    engine = service_of(request).engine
    return await _written(request, lambda progress: registry_writes.put(engine, path, record, who.viewer, progress))


@router.patch(
    "/api/entities/{path:path}",
    response_model=shapes.Entity,
    responses=problem_responses(404),
    summary="Change the status of an entity, or enable or disable it",
)
async def patch(path: Address, body: shapes.ChangeBody, request: Request) -> Response:
    who = writer(request)
    return await _written(
        request,
        lambda _: registry_writes.change(service_of(request).engine, path, body.status, body.enabled, who.viewer),
    )


@router.delete(
    "/api/entities/{path:path}",
    response_model=shapes.Removed,
    responses=problem_responses(404),
    summary="Remove an entity and its tools",
)
async def delete(path: Address, request: Request) -> Response:
    who = writer(request)
    return await _written(request, lambda _: registry_writes.unregister(service_of(request).engine, path, who.viewer))
