"""What is asked of a registry: the best entities of all kinds, in groups."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import KINDS, SERVER, TOOL
from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition, Hit, Plan, Ranking
from watersmeet.core.ports import Entities
from watersmeet.core.visibility import Viewer, gates
from watersmeet.engine.query.diagnostics import log_enabled, log_search
from watersmeet.engine.query.runner import SearchRun, run
from watersmeet.engine.query.visibility import open_lifecycle
from watersmeet.engine.registry.requests import TYPES, EntityRequest
from watersmeet.engine.registry.scope import EntityScope, Voters
from watersmeet.engine.registry.visibility import visible
from watersmeet.engine.settings.settings import RegistrySettings, Settings
from watersmeet.present.registry import EntityAnswer, Found, grouped

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine


def search(engine: Engine, request: EntityRequest) -> EntityAnswer:
    """The best entities of all kinds, in groups, with the tools that answer to the query."""
    request.checked()
    flags = (request.include_deprecated, request.include_draft, request.include_disabled)
    condition = request.condition
    for tag in request.tags:
        condition = condition.narrowed("tag", (tag.strip().lstrip("#"),))
    text, condition = understood(request.query, condition, flags)
    return _searched(engine, request, text, condition) if text else _listed(engine, request, condition)


def understood(
    query: str, condition: Condition, flags: tuple[bool, bool, bool] = (False, False, False)
) -> tuple[str, Condition]:
    """The query without its `#tags`, and everything that must hold before anything is ranked."""
    from watersmeet.query.tags import Tags

    plan = Tags().apply(Plan(query.strip(), condition=condition))
    usual = open_lifecycle(gates(None, *flags), plan.condition)
    return plan.text, replace(plan.condition, gates={**plan.condition.gates, **usual})


def scope_of(settings: Settings, types: tuple[str, ...]) -> EntityScope:
    """Tools are searched with their servers, and servers for the sake of their tools."""
    own: RegistrySettings = settings.section("registry")
    kinds = tuple(kind for kind in KINDS if kind in types or (kind == SERVER and TOOL in types))
    return EntityScope(
        searched=(*kinds, TOOL) if own.search_tools and SERVER in kinds else kinds,
        voters=Voters(tuple(own.signals), tuple(own.stages)),
        words=Voters(tuple(own.lexical_signals), tuple(own.lexical_stages)),
        kinds=types,
    )


def _searched(engine: Engine, request: EntityRequest, text: str, condition: Condition) -> EntityAnswer:
    types = tuple(dict.fromkeys(request.entity_types or TYPES))
    asked = request.request(text, request.max_results, condition)
    scope = scope_of(engine.settings_for(request.recipe), types)
    with run(engine, asked, scope) as search_run:
        found = found_in(
            search_run.outcome.ranking, search_run.visible_index.entities, search_run.snapshot, request.viewer
        )
        sure = search_run.confidence()
        logged(search_run)
        notes = () if found else _notes(search_run.snapshot, condition, request.viewer)
    if request.entity_types is not None:
        found = [item for item in found if (TOOL if item.tool else item.entity.kind) in types]
    engine.note_search(search_run, asked, [_name(item) for item in found])
    groups: dict[str, Any] = grouped(found, text, tool_limit(request.max_results))
    return EntityAnswer(
        query=request.query,
        search_mode="lexical-only" if search_run.mode in ("lexical", "exact") else "hybrid",
        mode=search_run.mode,
        recipe=search_run.settings.recipe,
        **groups,
        confidence=sure.probability if sure else None,
        no_good_match=sure is not None and not sure.fits,
        failures=search_run.outcome.failures,
        silent=search_run.silent,
        notes=notes,
        took_ms=search_run.took_ms,
    )


def _listed(engine: Engine, request: EntityRequest, condition: Condition) -> EntityAnswer:
    """Tags and nothing else: whatever carries them, the last changed first."""
    from watersmeet.engine.query.visibility import search_gates
    from watersmeet.stage.distribute import Distribute

    start = time.perf_counter()
    with engine.snapshot() as snapshot:
        seen = search_gates(snapshot, request.request("", request.max_results, condition))
        hits: list[Hit] = []
        for kind in dict.fromkeys(request.entity_types or KINDS):
            chunks = snapshot.newest(seen.narrowed("kind", (kind,)), request.max_results)
            hits += [Hit(chunk, 1.0) for chunk in chunks]
        plan = Plan("", top_n=request.max_results)
        entities = engine.visible_index(snapshot, request.viewer).entities
        ranking = Distribute(entities).apply(Ranking("listed", tuple(hits)), plan)
        found = found_in(ranking, entities, snapshot, request.viewer)
        notes = () if found else _notes(snapshot, condition, request.viewer)
    groups: dict[str, Any] = grouped(found, "", tool_limit(request.max_results))
    return EntityAnswer(
        query=request.query,
        search_mode="lexical-only",
        mode="lexical",
        recipe=engine.settings_for(request.recipe).recipe,
        **groups,
        notes=notes,
        took_ms=(time.perf_counter() - start) * 1000,
    )


def _notes(snapshot: Snapshot, condition: Condition, viewer: Viewer | None) -> tuple[str, ...]:
    """For whoever found nothing: the tags that nothing has."""
    if not condition.has_filters:
        return ()
    from watersmeet.engine.query.filter_hints import filter_hints

    return tuple(filter_hints(snapshot, condition, viewer))


def tool_limit(max_results: int) -> int:
    """How many tools are named of each server, and of all."""
    return max(3, math.ceil(max_results * 0.6))


def logged(search_run: SearchRun) -> None:
    if log_enabled():
        log_search(
            search_run.outcome, search_run.snapshot.passages([hit.chunk for hit in search_run.outcome.ranking.hits])
        )


def found_in(ranking: Ranking, entities: Entities, snapshot: Snapshot, viewer: Viewer | None) -> list[Found]:
    """The hits with what was registered under them, as far as the viewer may see it; a tool with its server."""
    leads = entities.heads([hit.chunk for hit in ranking.hits])
    shown = [(hit, leads[hit.chunk]) for hit in ranking.hits]
    known = entities.entities({lead.server or lead.document for _, lead in shown})
    known = dict(zip(known, visible(snapshot, list(known.values()), viewer), strict=True))
    found = []
    for hit, lead in shown:
        entity = known[lead.server or lead.document]
        name = lead.document.removeprefix(f"{entity.path}#")
        tool = next((tool for tool in entity.tools if tool.name == name), None) if lead.kind == TOOL else None
        if lead.kind != TOOL or tool:
            found.append(Found(entity, hit.score, hit.evidence, tool))
    return found


def _name(item: Found) -> str:
    return f"{item.entity.path}#{item.tool.name}" if item.tool else item.entity.path
