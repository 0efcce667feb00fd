"""`watersmeet get`, `related`, `list` and `remove`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Result
from watersmeet.core.place import Place, located
from watersmeet.engine.query.filters import build_request
from watersmeet.face.cli.common import (
    common,
    counted,
    for_people,
    formatted,
    loaded,
    openable,
    opened,
    print_json,
    print_line,
    relative,
    table,
)
from watersmeet.face.cli.params import flags, from_flags
from watersmeet.face.cli.streams import one_line
from watersmeet.face.index_writes import count_removed
from watersmeet.face.listing import ListParams
from watersmeet.present.answer import to_json

EMPTY = "the index is empty; `watersmeet sync PATH` fills it"


@click.command(
    "get",
    epilog="Examples: watersmeet get guides/setup.md | watersmeet get 'Meeting Notes' | "
    "watersmeet get report.pdf --markdown > report.md | watersmeet get 'Meeting Notes' --open",
)
@click.argument("identity", metavar="ID")
@click.option("--markdown", is_flag=True, help="Print only the text as it was extracted, as Markdown.")
@openable("Open it in an editor, Obsidian or a browser instead of printing it.")
@click.option("--as-config", is_flag=True, help="Print how to connect to a registered server, for an MCP client.")
@formatted
@common
def get_command(
    identity: str, markdown: bool, opens: bool, as_config: bool, form: str, index: str, as_json: bool, quiet: bool
) -> None:
    """Show a document or a chunk. Embeds such as ![[note#part]] show the text that they stand for.

    ID is the id of a document or chunk from `list` or `search --json`; the path of an indexed file; a place as `search`
    prints it (PATH:LINE, 'report.pdf p. 3', page.html#anchor), for the chunk there; or a name, title or alias that
    only one document has.
    """
    if as_config:
        return _print_configuration(identity, index, as_json or form == "json", quiet)
    with opened(index) as engine:
        found = engine.get(identity, embeds=not markdown)
    if opens:
        _open(found)
        if not as_json:
            return None
    if as_json or form == "json":
        print_json(found)
        return None
    if found.get("file_missing") and not quiet:
        print(f"{one_line(found['path'])} no longer exists; this is its text as of the last sync", file=sys.stderr)
    if not quiet and not markdown:
        _print_head(found, form)
    print(found["text"])
    return None


def _print_configuration(path: str, index: str, as_json: bool, quiet: bool) -> None:
    """Print the first way to connect as JSON to paste; remarks, and what to fill in, on standard error."""
    with opened(index) as engine:
        found = engine.registry.configuration(path)
    if as_json:
        print_json(found.to_json())
    elif found.ways:
        print(json.dumps(found.ways[0].configuration, indent=2))
    remarks = list(found.notes)
    for one in found.ways[0].to_fill if found.ways else ():
        meaning = f": {one.meaning}" if one.meaning else ""
        remarks.append(f"{'fill in' if one.required else 'optional'}: {one.name} ({one.where}){meaning}")
    remarks += [f"another way, with --json: {way.title} ({way.transport})" for way in found.ways[1:]]
    if not (quiet or as_json):
        for remark in remarks:
            print(one_line(remark), file=sys.stderr)
    if not found.ways:
        sys.exit(1)


def _open(found: dict[str, Any]) -> None:
    from watersmeet.face.cli.open_with import Target, open_target

    headings = tuple(found["chunks"][0]["headings"]) if found["where"] else ()
    open_target(Target(found["path"], Place.read(found["where"]), found["kind"], headings), loaded())


def _print_head(found: dict[str, Any], form: str) -> None:
    if form == "markdown":
        print_line(f"`{located(found['path'], found['where'])}`")
        print()
    elif form or not for_people():
        print_line(found["title"])
        print_line(located(relative(found["path"]), found["where"]))
        print()
    else:
        from watersmeet.face.cli.pretty import print_head

        print_head(found["title"], found["path"], found["where"])


@click.command("related", epilog="Example: watersmeet related guides/setup.md")
@click.argument("identity", metavar="ID")
@counted(1000, "How many results.")
@formatted
@common
def related_command(identity: str, top_n: int, form: str, index: str, as_json: bool, quiet: bool) -> None:
    """List the documents that a document links to or is linked from. ID is as for `get`."""
    with opened(index) as engine:
        answer = engine.related(identity, top_n)
    as_json = as_json or form == "json"
    if as_json:
        print_json(to_json(answer))
    elif answer.results:
        rows = [[r.document, r.title, f"{r.score:.3f}", _ways(r)] for r in answer.results]
        table(["document", "title", "score", "link"], rows, form)
    if not answer.results:
        if not quiet and not as_json:
            print("this document has no links in either direction", file=sys.stderr)
        sys.exit(1)


def _ways(result: Result) -> str:
    """Direction and type of the links: `to (wiki), from (related)`."""
    ways: dict[str, list[str]] = {}
    for path in result.evidence[0].detail["paths"]:
        ends, _, type = path.rpartition(" (")
        way = "to" if ends.endswith(f"-> {result.document}") else "from"
        ways.setdefault(way, []).append(type.rstrip(")"))
    return ", ".join(f"{way} ({', '.join(types)})" for way, types in ways.items())


@click.command(
    "list",
    epilog="Examples: watersmeet list --json | watersmeet list 'guides/**' --since 2w --sort modified -n 20 | "
    "watersmeet list --tag food --filter status!=draft | watersmeet list --roots",
)
@click.argument("path", default="", metavar="[GLOB]")
@flags(ListParams, without=("path",))
@counted(None, "How many documents; default: all.", usual=None)
@click.option("--roots", is_flag=True, help="List the folders and addresses that the index covers instead.")
@formatted
@common
def list_command(
    roots: bool, top_n: int | None, form: str, index: str, as_json: bool, quiet: bool, **values: Any
) -> None:
    """List the documents of the index; with GLOB, those whose id matches it: 'guides/**', '*.pdf'."""
    params = from_flags(ListParams, values)
    hints: list[str] = []
    with opened(index) as engine:
        if roots:
            _list_roots(engine.status()["sources"], form, as_json, quiet)
            return
        found = engine.documents(sort=params.sort, **params.options())
        if not found and params.options():
            hints = engine.unknown_fields(build_request("", params.options()))
    documents = found[:top_n]
    if as_json or form == "json":
        print_json({"documents": documents})
    else:
        _print_list(documents, form)
        if len(documents) < len(found) and not quiet:
            print(f"{len(documents)} of {len(found):,} documents", file=sys.stderr)
    if not found and not quiet and not as_json:
        print(*(hints or (["no such documents"] if params.options() else [EMPTY])), sep="\n", file=sys.stderr)
    if not found and params.options():
        sys.exit(1)


def _print_list(documents: list[dict[str, Any]], form: str) -> None:
    names = ["document", "kind", "title", "modified", "chunks"]
    rows = [[str(document[name] or "") for name in names] for document in documents]
    if form == "markdown" or (not form and for_people()):
        for row in rows:
            row[3] = row[3][:10]
        if len({document["kind"] for document in documents}) == 1:  # the same for all: left out
            names.remove("kind")
            rows = [[row[0], *row[2:]] for row in rows]
    if documents or form == "markdown":
        table(names, rows, form)


def _list_roots(sources: list[dict[str, Any]], form: str, as_json: bool, quiet: bool) -> None:
    if as_json or form == "json":
        print_json({"sources": sources})
        return
    from watersmeet.face.cli.roots import print_sources

    print_sources(sources, form)
    if not sources and not quiet:
        print(EMPTY, file=sys.stderr)


@click.command(
    "remove",
    epilog="Examples: watersmeet remove guides/old.md | watersmeet remove ~/notes | "
    "watersmeet remove https://example.org/docs/ | watersmeet remove --all --dry-run",
)
@click.argument("identities", nargs=-1, metavar="[DOC]...")
@click.option("--all", "everything", is_flag=True, help="Remove all documents, folders and addresses.")
@click.option("--dry-run", is_flag=True, help="Only count what would be removed.")
@common
def remove_command(
    identities: tuple[str, ...], everything: bool, dry_run: bool, index: str, as_json: bool, quiet: bool
) -> None:
    """Remove documents from the index, or a whole folder or address: by its path or address, its name or its prefix.

    The next sync adds a removed document again if its file still exists; a removed folder or address is no longer
    synced. `watersmeet list --roots` shows them. With --all nothing is left but registered servers, agents and skills.
    """
    if everything == bool(identities):
        raise ConfigError(
            "--all removes everything, and so takes no names" if everything else "no DOC was named",
            "name documents or folders, or use --all",
        )
    with opened(index) as engine:
        named = [root["root"] for root in engine.roots()] if everything else list(identities)
        removed = count_removed(engine, named) if dry_run else engine.remove(named)
    if as_json:
        print_json({"removed": removed, **({"dry_run": True} if dry_run else {})})
    elif not quiet:
        print(f"would remove {removed}; nothing was removed: this was a dry run" if dry_run else f"removed {removed}")
