"""Tool search: the tools to call for a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.boosts import query_words as words_of
from watersmeet.core.boosts import singular, text_words
from watersmeet.core.entities import TOOL
from watersmeet.core.model import Condition, DocId, Failure, Hit
from watersmeet.core.ports import Entities
from watersmeet.engine.query.modes import LEXICAL_SIGNALS
from watersmeet.engine.query.runner import run
from watersmeet.engine.query.visibility import search_gates
from watersmeet.engine.registry.requests import ToolRequest
from watersmeet.engine.registry.scope import EntityScope, Voters
from watersmeet.engine.registry.search import log_run, split_query
from watersmeet.engine.settings.settings import RegistrySettings
from watersmeet.present.registry import OfferedTool, ToolAnswer

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

_SCOPE = EntityScope((TOOL,), Voters((), ("top", "unit")), Voters(LEXICAL_SIGNALS, ("unit",)))


def find_tools(engine: Engine, request: ToolRequest) -> ToolAnswer:
    """The tools to call, best first, with their input schemas; pinned tools are always included."""
    request.checked()
    settings, top_n = engine.settings_for(request.recipe), request.top_n
    own: RegistrySettings = settings.section("registry")
    text, condition = split_query(request.task, request.condition)
    search_request = request.request(text, top_n, condition)
    with run(engine, search_request, _SCOPE) as search_run:
        entities = search_run.visible_index.entities
        leads = entities.heads([hit.chunk for hit in search_run.outcome.ranking.hits])
        found = {leads[hit.chunk].document: hit for hit in search_run.outcome.ranking.hits}
        condition = search_gates(search_run.snapshot, search_request)
        always, missing = _pinned(dict.fromkeys((*own.pinned, *request.pinned)), entities, condition)
        room = max(0, top_n - len([name for name in always if name not in found]))
        shown = [name for place, name in enumerate(found) if place < room or name in always]
        shown += [name for name in always if name not in found]
        records = entities.records(shown)
        confidence = search_run.confidence()
        log_run(search_run)
    engine.note_search(search_run, search_request, list(shown))
    words = words_of(text)
    return ToolAnswer(
        task=request.task,
        tools=tuple(_offered(records[name], found.get(name), name in always, words) for name in shown),
        mode=search_run.mode,
        recipe=settings.recipe,
        confidence=confidence.probability if confidence else None,
        no_good_match=confidence is not None and not confidence.fits,
        confidence_words=confidence.words if confidence else "",
        failures=(*search_run.outcome.failures, *missing),
        silent=search_run.silent,
        took_ms=search_run.took_ms,
    )


def _pinned(
    names: Mapping[str, None], entities: Entities, condition: Condition
) -> tuple[dict[DocId, None], list[Failure]]:
    """Pinned tools that are visible, and a failure for each name without one."""
    tools = entities.tools(list(names), condition)
    found = {name for pair in tools for name in pair}
    hint = "registry.pinned names tools: NAME, or SERVER_PATH#NAME"
    missing = [Failure("pinned", f"there is no tool {name!r}", hint) for name in names if name not in found]
    return dict.fromkeys(identity for identity, _ in tools), missing


def _offered(record: Mapping[str, Any], hit: Hit | None, pinned: bool, words: Sequence[str]) -> OfferedTool:
    return OfferedTool(
        tool_name=record["name"],
        server_path=record["server"],
        server_name=record.get("server_name", ""),
        description=record.get("description", ""),
        inputSchema=record.get("inputSchema") or {},
        score=round(hit.score, 4) if hit else 0.0,
        why="; ".join(_reasons(record, hit, pinned, words)),
    )


def _reasons(record: Mapping[str, Any], hit: Hit | None, pinned: bool, words: Sequence[str]) -> list[str]:
    """Reasons for a tool: query words in its name and description, and its ranks by signal."""
    reasons = ["pinned"] if pinned else []
    for place in ("name", "description"):
        tool_words = text_words(record.get(place) or "")
        shared = [word for word in words if singular(word) in tool_words]
        if shared:
            reasons.append(f"{place} has {', '.join(shared)}")
    if hit is not None:
        ranks = [f"{e.by}#{e.rank}" for e in hit.evidence if "contribution" in e.detail and not e.detail.get("filled")]
        reasons += [", ".join(ranks)] if ranks else []
    return reasons
