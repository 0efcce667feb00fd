"""Tool search: the tools to call for a task, and servers that fit but list no tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.boosts import query_words as words_of
from watersmeet.core.boosts import singular, text_words
from watersmeet.core.entities import SERVER, TOOL, tool_of
from watersmeet.core.entities import record as as_record
from watersmeet.core.model import ChunkId, Condition, DocId, Failure, Hit
from watersmeet.core.ports import DocumentHead, Entities
from watersmeet.engine.query.modes import LEXICAL_SIGNALS
from watersmeet.engine.query.runner import run
from watersmeet.engine.query.visibility import search_gates
from watersmeet.engine.registry.database_state import database_failures
from watersmeet.engine.registry.requests import ToolRequest
from watersmeet.engine.registry.review import Reviews
from watersmeet.engine.registry.scope import EntityScope, Voters
from watersmeet.engine.registry.search import log_run, split_query
from watersmeet.engine.settings.settings import RegistrySettings
from watersmeet.present.mcp_configuration import endpoint_url
from watersmeet.present.registry import OfferedServer, OfferedTool, ToolAnswer

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

MIN_SERVER_SCORE = 0.2
"""Lowest score of a server that is named, as a share of the best tool or server."""


def find_tools(engine: Engine, request: ToolRequest) -> ToolAnswer:
    """The tools to call, best first, with their input schemas, and servers that fit and list no tools; pinned tools are
    always included."""
    request.checked()
    settings, top_n = engine.settings_for(request.recipe), request.top_n
    own: RegistrySettings = settings.section("registry")
    text, condition = split_query(request.task, request.condition)
    search_request = request.request(text, top_n, condition)
    with run(engine, search_request, _scope(own)) as search_run:
        entities, hits = search_run.visible_index.entities, search_run.outcome.ranking.hits
        leads = entities.heads([hit.chunk for hit in hits])
        found = {leads[hit.chunk].document: hit for hit in hits if leads[hit.chunk].kind == TOOL}
        servers = _servers(hits, leads, top_n)
        condition = search_gates(search_run.snapshot, search_request)
        always, missing = _pinned(dict.fromkeys((*own.pinned, *request.pinned)), entities, condition)
        first = list(found)[:top_n]
        room = max(0, top_n - len([name for name in always if name not in first]))
        shown = [name for place, name in enumerate(first) if place < room or name in always]
        shown += sorted((name for name in always if name not in first), key=lambda name: -_score(found.get(name)))
        records = entities.records([*shown, *servers])
        offers = _Offers(engine, request, entities, records)
        confidence = search_run.confidence()
        database = database_failures(engine.index, search_run.snapshot, settings, request.viewer)
        log_run(search_run)
    engine.note_search(search_run, search_request, [*shown, *servers])
    words = words_of(text)
    return ToolAnswer(
        task=request.task,
        tools=tuple(offers.tool(name, found.get(name), name in always, words) for name in shown),
        servers=tuple(offers.server(name, hit, words) for name, hit in servers.items()),
        mode=search_run.mode,
        recipe=settings.recipe,
        confidence=confidence.probability if confidence else None,
        no_good_match=confidence is not None and not confidence.fits,
        confidence_words=confidence.words if confidence else "",
        failures=(*search_run.outcome.failures, *missing, *database),
        silent=search_run.silent,
        took_ms=search_run.took_ms,
    )


def _scope(own: RegistrySettings) -> EntityScope:
    """Tools; with `registry.toolless_servers` also servers, in one ranking, so that their scores compare."""
    stages = tuple(own.tool_stages)
    return EntityScope(
        searched=(TOOL, SERVER) if own.toolless_servers else (TOOL,),
        voters=Voters((), stages),
        words=Voters(LEXICAL_SIGNALS, tuple(stage for stage in stages if stage != "top")),
        tools_first=own.toolless_servers,
    )


def _servers(hits: Sequence[Hit], leads: Mapping[ChunkId, DocumentHead], top_n: int) -> dict[DocId, Hit]:
    """Servers among the first results of both kinds, at most half as many as tools are requested."""
    first = {leads[hit.chunk].document: hit for hit in hits[:top_n] if leads[hit.chunk].kind == SERVER}
    fitting = [(name, hit) for name, hit in first.items() if hit.score >= MIN_SERVER_SCORE]
    return dict(fitting[: -(-top_n // 2)])


def _pinned(
    names: Mapping[str, None], entities: Entities, condition: Condition
) -> tuple[dict[DocId, None], list[Failure]]:
    """Pinned tools that are visible, and a failure for each name without one."""
    tools = entities.tools(list(names), condition)
    found = {name for pair in tools for name in pair}
    hint = "registry.pinned names tools: NAME, or SERVER_PATH#NAME"
    missing = [Failure("pinned", f"there is no tool {name!r}", hint) for name in names if name not in found]
    return dict.fromkeys(identity for identity, _ in tools), missing


def _score(hit: Hit | None) -> float:
    return round(hit.score, 4) if hit else 0.0


class _Offers:
    """Tools and servers as they are offered, from their records; `endpoint_url` comes from the record of the server."""

    def __init__(
        self, engine: Engine, request: ToolRequest, entities: Entities, records: Mapping[DocId, Mapping[str, Any]]
    ) -> None:
        self._records, self._reviews = records, Reviews(engine.index)
        paths = {DocId(found.get("server") or found["path"]) for found in records.values()}
        self._servers = entities.entities(paths)
        self._addresses = {
            path: endpoint_url(as_record(server), request.shows_addresses) for path, server in self._servers.items()
        }

    def tool(self, name: DocId, hit: Hit | None, pinned: bool, words: Sequence[str]) -> OfferedTool:
        found = self._records[name]
        server = self._servers[found["server"]]
        tool = tool_of(found)
        return OfferedTool(
            tool_name=found["name"],
            server_path=found["server"],
            server_name=found.get("server_name", ""),
            description=found.get("description", ""),
            inputSchema=found.get("inputSchema") or {},
            endpoint_url=self._addresses[found["server"]],
            score=_score(hit),
            why="; ".join(_reasons(found, hit, pinned, words)),
            review=self._reviews.reasons(server, tool),
        )

    def server(self, name: DocId, hit: Hit, words: Sequence[str]) -> OfferedServer:
        found = self._records[name]
        return OfferedServer(
            server_path=found["path"],
            server_name=found["name"],
            description=found.get("description", ""),
            endpoint_url=self._addresses[found["path"]],
            score=_score(hit),
            why="; ".join(_reasons(found, hit, False, words, ("name", "tags", "description"))),
            review=self._reviews.reasons(self._servers[name]),
        )


def _reasons(
    record: Mapping[str, Any],
    hit: Hit | None,
    pinned: bool,
    words: Sequence[str],
    places: Sequence[str] = ("name", "description"),
) -> list[str]:
    """Reasons for a tool or server: query words in its name and description, and its ranks by signal."""
    reasons = ["pinned"] if pinned else []
    for place in places:
        value = record.get(place) or ""
        present = text_words(*([value] if isinstance(value, str) else value))
        shared = [word for word in words if singular(word) in present]
        if shared:
            reasons.append(f"{place} has {', '.join(shared)}" if place != "tags" else f"tags have {', '.join(shared)}")
    if hit is not None:
        ranks = [f"{e.by}#{e.rank}" for e in hit.evidence if "contribution" in e.detail and not e.detail.get("filled")]
        reasons += [", ".join(ranks)] if ranks else []
    return reasons
