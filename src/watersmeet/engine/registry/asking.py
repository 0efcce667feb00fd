"""What is asked of a registry: the best entities of all kinds, in groups."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import KINDS, SERVER, TOOL
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.model import Condition, Failure, Hit, Plan, Ranking
from watersmeet.core.ports import Entities
from watersmeet.core.viewers import Viewer, gates
from watersmeet.engine.modes import wants_vectors
from watersmeet.engine.registry.running import Asked, certainty, elapsed, run
from watersmeet.engine.settings import RegistrySettings, Settings
from watersmeet.engine.viewing import opened
from watersmeet.present.registry import Found, grouped

if TYPE_CHECKING:
    from watersmeet.engine.confidence import Confidence
    from watersmeet.engine.engine import Engine

MOST_RESULTS = 50
LONGEST = 512
TYPES = (*KINDS, TOOL)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What `POST /api/search/semantic` takes, and who asks. No types: all. All of the tags must hold."""

    query: str = ""
    entity_types: tuple[str, ...] | None = None
    max_results: int = 10
    include_deprecated: bool = False
    include_draft: bool = False
    include_disabled: bool = False
    tags: tuple[str, ...] = ()
    mode: str = ""
    recipe: str = ""
    intent: str = ""
    viewer: Viewer | None = None
    condition: Condition = Condition()

    def checked(self) -> None:
        """Complains about what cannot be answered."""
        if not 1 <= self.max_results <= MOST_RESULTS:
            raise ConfigError(f"max_results is {self.max_results}", f"ask for 1 to {MOST_RESULTS}")
        if len(self.query) > LONGEST:
            raise ConfigError(f"the query has {len(self.query)} characters", f"at most {LONGEST} are read; shorten it")
        for name in self.entity_types or ():
            if name not in TYPES:
                raise ConfigError(f"no entity type called {name!r}", nearest(name, TYPES))
        for tag in self.tags:
            if not tag.strip().lstrip("#"):
                raise ConfigError(f"{tag!r} is no tag", "a tag has a name: --tag docs, or #docs in the query")
        wants_vectors(self.mode)  # it refuses a mode that there is not, also where nothing is ranked
        if not self.query.strip() and not self.tags:
            raise ConfigError("neither a query nor tags", "say what you look for, or name a tag")


def search(engine: Engine, request: SearchRequest) -> dict[str, Any]:
    """The best entities of all kinds, in groups, with the tools that answer to the query."""
    start = time.perf_counter()
    request.checked()
    settings = engine._settings(request.recipe)
    text, condition = understood(request)
    types = tuple(dict.fromkeys(request.entity_types or TYPES))
    sure: Confidence | None = None
    if text:
        mode, found, failures, sure = _searched(engine, settings, request, text, condition, types)
    else:
        mode, found, failures = "lexical", _listed(engine, condition, request), ()
    notes = [] if found else _notes(engine, condition, request)
    if request.entity_types is not None:
        found = [item for item in found if (TOOL if item.tool else item.entity.kind) in types]
    return {
        "query": request.query,
        "search_mode": "lexical-only" if mode in ("lexical", "exact") else "hybrid",
        "mode": mode,
        "recipe": settings.recipe,
        **grouped(found, text, tool_limit(request.max_results)),
        **certainty(sure),
        "failures": [failed(failure) for failure in failures],
        **({"notes": notes} if notes else {}),
        "took_ms": elapsed(start),
    }


def _notes(engine: Engine, condition: Condition, request: SearchRequest) -> list[str]:
    """For whoever found nothing: the tags that nothing has."""
    if not condition.asked:
        return []
    from watersmeet.engine.unfound import unfound

    with engine._session() as session, session.moment() as view:
        return unfound(view, condition, request.viewer)


def tool_limit(max_results: int) -> int:
    """How many tools are named of each server, and of all."""
    return max(3, math.ceil(max_results * 0.6))


def understood(request: SearchRequest) -> tuple[str, Condition]:
    """The query without its `#tags`, and everything that must hold before anything is ranked."""
    from watersmeet.query.tags import Tags

    flags = (request.include_deprecated, request.include_draft, request.include_disabled)
    usual = opened(gates(request.viewer, *flags), request.condition)
    condition = replace(request.condition, gates={**request.condition.gates, **usual})
    for tag in request.tags:
        condition = condition.narrowed("tag", (tag.strip().lstrip("#"),))
    plan = Tags().apply(Plan(request.query.strip(), condition=condition))
    return plan.text, plan.condition


def _searched(
    engine: Engine,
    settings: Settings,
    request: SearchRequest,
    text: str,
    condition: Condition,
    types: tuple[str, ...],
) -> tuple[str, list[Found], tuple[Failure, ...], Confidence | None]:
    own: RegistrySettings = settings.section("registry")
    kinds = tuple(kind for kind in KINDS if kind in types or (kind == SERVER and TOOL in types))
    looked_at = (*kinds, TOOL) if own.own_tools and SERVER in kinds else kinds
    stages = tuple(stage for stage in own.stages if stage != "tools" or TOOL in types)
    asked = Asked(
        text=text,
        condition=condition,
        kinds=looked_at,
        top_n=request.max_results,
        stages=stages,
        signals=tuple(own.signals),
        lexical=(("boost",), tuple("full" if stage == "unit" else stage for stage in stages)),
        only=types,
        mode=request.mode,
        intent=request.intent,
    )
    with run(engine, settings, asked) as ran:
        found = _found(ran.outcome.ranking, ran.entities)
        sure = ran.sure()
    return ran.mode, found, ran.outcome.failures, sure


def _listed(engine: Engine, condition: Condition, request: SearchRequest) -> list[Found]:
    """Tags and nothing else: whatever carries them, the last changed first."""
    from watersmeet.stage.distribute import Distribute

    with engine._session() as session, session.moment() as view:
        hits: list[Hit] = []
        for kind in request.entity_types or KINDS:
            chunks = view.newest(condition.narrowed("kind", (kind,)), request.max_results)
            hits += [Hit(chunk, 1.0) for chunk in chunks]
        plan = Plan("", top_n=request.max_results)
        ranking = Distribute(session.entities).apply(Ranking("listed", tuple(hits)), plan)
        return _found(ranking, session.entities)


def _found(ranking: Ranking, entities: Entities) -> list[Found]:
    """The hits with what was registered under them; a tool with its server."""
    leads = entities.leads([hit.chunk for hit in ranking.hits])
    shown = [(hit, leads[hit.chunk]) for hit in ranking.hits]
    known = entities.entities({lead.server or lead.document for _, lead in shown})
    found = []
    for hit, lead in shown:
        entity = known[lead.server or lead.document]
        name = lead.document.removeprefix(f"{entity.path}#")
        tool = next((tool for tool in entity.tools if tool.name == name), None) if lead.kind == TOOL else None
        if lead.kind != TOOL or tool:
            found.append(Found(entity, hit.score, hit.evidence, tool))
    return found


def failed(failure: Failure) -> dict[str, str]:
    return {"by": failure.by, "reason": failure.reason, "hint": failure.hint}
