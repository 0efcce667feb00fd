"""`watersmeet find-tools` and `watersmeet find-entities`: searches of the registry."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from watersmeet.core.entities import is_entity
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.engine.registry.requests import EntityRequest, ToolRequest
from watersmeet.face.cli.common import common, ensure_sparse, loaded, print_json, table
from watersmeet.face.cli.params import flags, from_flags
from watersmeet.face.search import no_good_match

if TYPE_CHECKING:
    from watersmeet.present.registry import EntityAnswer, ToolAnswer

NOTHING = "nothing is registered in this index; `watersmeet register FILE` adds entities"
TOOLLESS = "(none listed)"
"""In place of a tool: the server fits, and its record lists no tools."""
_NAMES = ("tool_name", "server_name", "agent_name", "skill_name", "name")


@click.command(
    "find-tools", epilog="Example: watersmeet find-tools 'turn a web page into a PDF' --intent 'monthly report'"
)
@click.argument("task", nargs=-1, required=True, metavar="TASK")
@flags(ToolRequest, without=("task",))
@common
def find_tools_command(task: tuple[str, ...], index: str, as_json: bool, quiet: bool, **values: Any) -> None:
    """Find the tools to call for TASK, with the server of each and why it was chosen.

    Servers that fit and list no tools are named too."""
    request = from_flags(ToolRequest, values, task=" ".join(task))
    with Engine(find_index(index), loaded(recipe=request.recipe)) as engine:
        ensure_sparse(engine, request.mode, quiet or as_json, engine.settings.section("registry").signals)
        answer = engine.registry.find_tools(request)
        found = bool(answer.tools or answer.servers)
        registered = found or _registered(engine)
    if as_json:
        print_json(answer.to_json())
    else:
        _print_notes(answer, found)
        _print_offers(answer, quiet, registered)
    if not found:
        sys.exit(1)


@click.command(
    "find-entities",
    epilog="Examples: watersmeet find-entities 'context7 docs' | wm find-entities '#database' --type mcp_server",
)
@click.argument("query", nargs=-1, metavar="[QUERY]")
@flags(EntityRequest, without=("query",))
@common
def find_entities_command(query: tuple[str, ...], index: str, as_json: bool, quiet: bool, **values: Any) -> None:
    """Find servers, tools, agents, skills, virtual servers and entities of declared types for QUERY, which may contain
    #tags."""
    values["entity_types"] = values["entity_types"] or None
    request = from_flags(EntityRequest, values, query=" ".join(query))
    with Engine(find_index(index), loaded(recipe=request.recipe)) as engine:
        ensure_sparse(engine, request.mode, quiet or as_json, engine.settings.section("registry").signals)
        answer = engine.registry.search(request)
        found = answer.entities
        registered = bool(found) or _registered(engine)
    if as_json:
        print_json(answer.to_json())
    else:
        _print_notes(answer, bool(found))
        rows = [
            [
                next(getattr(item, name) for name in _NAMES if hasattr(item, name)),
                item.entity_type,
                getattr(item, "path", "") or getattr(item, "server_path", ""),
                f"{item.relevance_score:.2f}",
                _line(item.description),
            ]
            for item in found
        ]
        _print(["name", "type", "path", "score", "what it is"], rows, quiet, registered)
        if not quiet and rows:
            print(f"{len(rows)} found, {answer.search_mode}, {answer.took_ms:.1f} ms", file=sys.stderr)
    if not found:
        sys.exit(1)


def _registered(engine: Engine) -> bool:
    return any(map(is_entity, engine.status()["kinds"]))


def _print_offers(answer: ToolAnswer, quiet: bool, registered: bool) -> None:
    """Print tools and then servers without tools; the servers first if the best of them fits better than any tool."""
    tools = [
        [tool.tool_name, tool.server_path, f"{tool.score:.2f}", _line(tool.description), tool.why]
        for tool in answer.tools
    ]
    servers = [
        [TOOLLESS, server.server_path, f"{server.score:.2f}", _line(server.description), server.why]
        for server in answer.servers
    ]
    ahead = bool(servers) and (not tools or answer.servers[0].score > answer.tools[0].score)
    rows = [*servers, *tools] if ahead else [*tools, *servers]
    _print(["tool", "server", "score", "what it does", "why"], rows, quiet, registered)


def _print(head: list[str], rows: list[list[str]], quiet: bool, registered: bool) -> None:
    if rows:
        table(head, rows)
    elif not quiet:
        print("nothing found" if registered else NOTHING, file=sys.stderr)


def _print_notes(answer: ToolAnswer | EntityAnswer, found: bool) -> None:
    """Print failures, whether there is no good match, and notes on the tags."""
    if found and answer.no_good_match:
        print(no_good_match(answer.confidence), file=sys.stderr)
    for note in getattr(answer, "notes", ()):
        print(note, file=sys.stderr)
    for failure in answer.failures:
        hint = f" ({failure.hint})" if failure.hint else ""
        print(f"without {failure.by}: {failure.reason}{hint}", file=sys.stderr)


def _line(text: str) -> str:
    """The first 160 characters, without line breaks."""
    return " ".join(text.split())[:160]
