"""`watersmeet find-tools` and `watersmeet find-entities`: what a registry is asked."""

from __future__ import annotations

import sys
from typing import Any

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.place import find_index
from watersmeet.engine.settings import load, recipes
from watersmeet.face.asking import nothing_fits
from watersmeet.face.cli.common import common, counted, print_json, table

TYPES = ("mcp_server", "tool", "a2a_agent", "skill", "virtual_server")
NOTHING = "nothing is registered in this index: `watersmeet register FILE` does that"
_NAMES = ("tool_name", "server_name", "agent_name", "skill_name")
_GROUPS = ("servers", "tools", "agents", "skills", "virtual_servers")


def _how(function: Any) -> Any:
    function = click.option("--recipe", default="", metavar="NAME", help=f"Which recipe: {', '.join(recipes())}.")(
        function
    )
    return click.option("--mode", default="", metavar="MODE", help="lexical, static, dense or hybrid.")(function)


@click.command(
    "find-tools", epilog="Example: watersmeet find-tools 'turn a web page into a PDF' --intent 'monthly report'"
)
@click.argument("task", nargs=-1, required=True, metavar="TASK")
@click.option("--intent", default="", metavar="TEXT", help="What the task is for.")
@counted(100, "How many tools.")
@click.option("--pin", "pinned", multiple=True, metavar="TOOL", help="Always offer this one too: NAME or PATH#NAME.")
@_how
@common
def find_tools_command(
    task: tuple[str, ...],
    intent: str,
    top_n: int,
    pinned: tuple[str, ...],
    mode: str,
    recipe: str,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Name the tools to call for TASK, with the server that has each and why it was chosen."""
    with Engine(find_index(index), load(recipe=recipe)) as engine:
        answer = engine.registry.find_tools(" ".join(task), intent, top_n, pinned=pinned, mode=mode)
        registered = bool(answer["tools"]) or _registered(engine)
    if as_json:
        print_json(answer)
    else:
        _print_notes(answer, bool(answer["tools"]))
        rows = [
            [tool["tool_name"], tool["server_path"], f"{tool['score']:.2f}", _line(tool["description"]), tool["why"]]
            for tool in answer["tools"]
        ]
        _print(["tool", "server", "score", "what it does", "why"], rows, quiet, registered)
    if not answer["tools"]:
        sys.exit(1)


@click.command(
    "find-entities",
    epilog="Examples: watersmeet find-entities 'context7 docs' | wm find-entities '#database' --type mcp_server",
)
@click.argument("query", nargs=-1, metavar="[QUERY]")
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="Only this type; may be repeated.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="With this tag or one below it; all of them, if repeated.",
)
@counted(50, "How many in all.")
@click.option("--intent", default="", metavar="TEXT", help="What the answer is for.")
@click.option("--include-deprecated", is_flag=True, help="Also what is deprecated.")
@click.option("--include-draft", is_flag=True, help="Also drafts.")
@click.option("--include-disabled", is_flag=True, help="Also what is disabled.")
@_how
@common
def find_entities_command(
    query: tuple[str, ...],
    types: tuple[str, ...],
    tags: tuple[str, ...],
    top_n: int,
    mode: str,
    recipe: str,
    index: str,
    as_json: bool,
    quiet: bool,
    **rest: Any,
) -> None:
    """Find servers, tools, agents, skills and virtual servers for QUERY, which may hold #tags."""
    from watersmeet.engine.registry.asking import SearchRequest

    request = SearchRequest(" ".join(query), types or None, top_n, tags=tags, mode=mode, **rest)
    with Engine(find_index(index), load(recipe=recipe)) as engine:
        answer = engine.registry.search(request)
        found = [item for group in _GROUPS for item in answer[group]]
        registered = bool(found) or _registered(engine)
    if as_json:
        print_json(answer)
    else:
        _print_notes(answer, bool(found))
        rows = [
            [
                next(item[name] for name in _NAMES if name in item),
                item["entity_type"],
                item.get("path") or item["server_path"],
                f"{item['relevance_score']:.2f}",
                _line(item["description"]),
            ]
            for item in sorted(found, key=lambda item: -item["relevance_score"])
        ]
        _print(["name", "type", "path", "score", "what it is"], rows, quiet, registered)
        if not quiet and rows:
            print(f"{len(rows)} found, {answer['search_mode']}, {answer['took_ms']:.1f} ms", file=sys.stderr)
    if not found:
        sys.exit(1)


def _registered(engine: Engine) -> bool:
    return not set(TYPES).isdisjoint(engine.status()["kinds"])


def _print(head: list[str], rows: list[list[str]], quiet: bool, registered: bool) -> None:
    if rows:
        table(head, rows)
    elif not quiet:
        print("nothing found" if registered else NOTHING, file=sys.stderr)


def _print_notes(answer: dict[str, Any], found: bool) -> None:
    """What could not run, whether nothing fits, and what is wrong with the tags."""
    if found and answer["no_good_match"]:
        print(nothing_fits(answer["confidence"]), file=sys.stderr)
    for note in answer.get("notes", ()):
        print(note, file=sys.stderr)
    for failure in answer["failures"]:
        hint = f" ({failure['hint']})" if failure["hint"] else ""
        print(f"without {failure['by']}: {failure['reason']}{hint}", file=sys.stderr)


def _line(text: str) -> str:
    """What fits into a line, without what would break it."""
    return " ".join(text.split())[:160]
