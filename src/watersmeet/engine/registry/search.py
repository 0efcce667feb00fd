"""Entity search: the best entities of all kinds, in groups."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.boosts import boost, query_words
from watersmeet.core.entities import KINDS, SERVER, TOOL, Entity, Tool, is_type_name, record, stored_kind, tool_of
from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition, DocId, Hit, Plan, Ranking
from watersmeet.core.ports import Entities
from watersmeet.core.visibility import Viewer, gates
from watersmeet.engine.query.diagnostics import log_enabled, log_search
from watersmeet.engine.query.runner import SearchRun, run
from watersmeet.engine.query.visibility import open_lifecycle
from watersmeet.engine.registry.database_state import database_failures
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.registry.review import Reviews
from watersmeet.engine.registry.scope import EntityScope, Voters
from watersmeet.engine.registry.types import check_types, known_types, labels
from watersmeet.engine.registry.visibility import visible
from watersmeet.engine.settings.settings import RegistrySettings, Settings
from watersmeet.present.mcp_configuration import endpoint_url
from watersmeet.present.registry import EntityAnswer, Found, grouped

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine


def search(engine: Engine, request: EntityRequest) -> EntityAnswer:
    """Search entities of all kinds; the answer groups them, with their matching tools."""
    request.checked()
    with engine.snapshot() as snapshot:
        stored = engine.visible_index(snapshot, request.viewer).entities.kinds()
    known = known_types(engine.settings, stored)
    check_types(request.entity_types or (), known)
    types = tuple(dict.fromkeys(request.entity_types or known))
    flags = (request.include_deprecated, request.include_draft, request.include_disabled)
    condition = request.condition
    for tag in request.tags:
        condition = condition.narrowed("tag", (tag.strip().lstrip("#"),))
    text, condition = split_query(request.query, condition, flags)
    answer = _ranked_answer if text else _newest_answer
    return answer(engine, request, text, condition, types)


def split_query(
    query: str, condition: Condition, flags: tuple[bool, bool, bool] = (False, False, False)
) -> tuple[str, Condition]:
    """The query without its `#tags`, and the condition with tags and gates."""
    from watersmeet.query.tags import Tags

    plan = Tags().apply(Plan(query.strip(), condition=condition))
    allowed = open_lifecycle(gates(None, *flags), plan.condition)
    return plan.text, replace(plan.condition, gates={**plan.condition.gates, **allowed})


def scope_of(settings: Settings, types: tuple[str, ...]) -> EntityScope:
    """The scope for some types: servers are searched together with their tools, and tools with their servers."""
    own: RegistrySettings = settings.section("registry")
    wanted = [name for name in KINDS if name in types or (name == SERVER and TOOL in types)]
    kinds = tuple(stored_kind(name) for name in (*wanted, *(name for name in types if is_type_name(name))))
    return EntityScope(
        searched=(*kinds, TOOL) if own.search_tools and SERVER in kinds else kinds,
        voters=Voters(tuple(own.signals), tuple(own.stages)),
        words=Voters(tuple(own.lexical_signals), tuple(own.lexical_stages)),
        kinds=tuple(map(stored_kind, types)),
    )


def _ranked_answer(
    engine: Engine, request: EntityRequest, text: str, condition: Condition, types: tuple[str, ...]
) -> EntityAnswer:
    search_request = request.request(text, request.max_results, condition)
    scope = scope_of(engine.settings_for(request.recipe), types)
    with run(engine, search_request, scope) as search_run:
        found = found_entities(
            engine, search_run.outcome.ranking, search_run.visible_index.entities, search_run.snapshot, request
        )
        confidence = search_run.confidence()
        log_run(search_run)
        notes = () if found else _notes(search_run.snapshot, condition, request.viewer)
        database = database_failures(engine.index, search_run.snapshot, search_run.settings, request.viewer)
    if request.entity_types is not None:
        found = [item for item in found if (TOOL if item.tool else item.entity.kind) in types]
    engine.note_search(search_run, search_request, [_name(item) for item in found])
    groups = _groups(engine, request, found, text)
    return EntityAnswer(
        query=request.query,
        search_mode="lexical-only" if search_run.mode in ("lexical", "exact") else "hybrid",
        mode=search_run.mode,
        recipe=search_run.settings.recipe,
        **groups,
        confidence=confidence.probability if confidence else None,
        no_good_match=confidence is not None and not confidence.fits,
        confidence_words=confidence.words if confidence else "",
        failures=(*search_run.outcome.failures, *database),
        silent=search_run.silent,
        notes=notes,
        took_ms=search_run.took_ms,
    )


def _newest_answer(
    engine: Engine, request: EntityRequest, text: str, condition: Condition, types: tuple[str, ...]
) -> EntityAnswer:
    """The answer to a request with tags only: entities with them, last changed first."""
    from watersmeet.engine.query.visibility import search_gates
    from watersmeet.stage.distribute import Distribute

    start = time.perf_counter()
    with engine.snapshot() as snapshot:
        visible_condition = search_gates(snapshot, request.request("", request.max_results, condition))
        hits: list[Hit] = []
        for name in types if request.entity_types else (name for name in types if name != TOOL):
            chunks = snapshot.newest(visible_condition.narrowed("kind", (stored_kind(name),)), request.max_results)
            hits += [Hit(chunk, 1.0) for chunk in chunks]
        plan = Plan("", top_n=request.max_results)
        entities = engine.visible_index(snapshot, request.viewer).entities
        ranking = Distribute(entities).apply(Ranking("listed", tuple(hits)), plan)
        found = found_entities(engine, ranking, entities, snapshot, request)
        notes = () if found else _notes(snapshot, condition, request.viewer)
        settings = engine.settings_for(request.recipe)
        database = database_failures(engine.index, snapshot, settings, request.viewer)
    groups = _groups(engine, request, found, text)
    return EntityAnswer(
        query=request.query,
        search_mode="lexical-only",
        mode="lexical",
        recipe=settings.recipe,
        **groups,
        failures=database,
        notes=notes,
        took_ms=(time.perf_counter() - start) * 1000,
    )


def _groups(engine: Engine, request: EntityRequest, found: list[Found], text: str) -> dict[str, Any]:
    most = tool_limit(request.max_results)
    return dict(grouped(found, text, most, request.metadata_fields, labels(engine.settings)))


def _notes(snapshot: Snapshot, condition: Condition, viewer: Viewer | None) -> tuple[str, ...]:
    """Hints about filters that match nothing, for an empty answer."""
    if not condition.has_filters:
        return ()
    from watersmeet.engine.query.filter_hints import filter_hints

    return tuple(filter_hints(snapshot, condition, viewer))


def tool_limit(max_results: int) -> int:
    """Number of tools listed for each server, and in all."""
    return max(3, math.ceil(max_results * 0.6))


def log_run(search_run: SearchRun) -> None:
    if log_enabled():
        chunks = [hit.chunk for hit in search_run.outcome.ranking.hits]
        words = query_words(search_run.outcome.plan.text)
        mentioned = search_run.visible_index.entities.mentions(words, chunks)
        boosts = {chunk: boost(places) for chunk, places, _ in mentioned}
        log_search(search_run.outcome, search_run.snapshot.passages(chunks), boosts)


def found_entities(
    engine: Engine, ranking: Ranking, entities: Entities, snapshot: Snapshot, request: EntityRequest
) -> list[Found]:
    """The entities of hits, without what the viewer may not see; a tool comes with its server."""
    viewer, reviews = request.viewer, Reviews(engine.index)
    leads = entities.heads([hit.chunk for hit in ranking.hits])
    shown = [(hit, leads[hit.chunk]) for hit in ranking.hits]
    found_by_id = entities.entities({lead.server or lead.document for _, lead in shown})
    found_by_id = dict(zip(found_by_id, visible(snapshot, list(found_by_id.values()), viewer), strict=True))
    found = []
    for hit, lead in shown:
        entity = found_by_id[lead.server or lead.document]
        tool = _tool(entity, lead.document, entities) if lead.kind == TOOL else None
        if lead.kind != TOOL or tool:
            address = endpoint_url(record(entity), request.shows_addresses) if entity.kind == SERVER else None
            found.append(Found(entity, hit.score, hit.evidence, tool, address, reviews.reasons(entity, tool)))
    return found


def _tool(entity: Entity, document: DocId, entities: Entities) -> Tool | None:
    """The tool of a document. A server does not list those that not all who see it may see; the document was found, so
    the viewer may."""
    name = document.removeprefix(f"{entity.path}#")
    tool = next((tool for tool in entity.tools if tool.name == name), None)
    limited = entities.records([document]) if tool is None else {}
    if "visibility" not in limited.get(document, {}):
        return tool
    return tool_of(limited[document])


def _name(item: Found) -> str:
    return f"{item.entity.path}#{item.tool.name}" if item.tool else item.entity.path
