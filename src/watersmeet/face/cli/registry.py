"""`watersmeet register`, `unregister`, `set-status`, `enable` and `disable`."""

from __future__ import annotations

import sys
from typing import Any

import click

from watersmeet.core.visibility import STATUSES
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import index_to_make
from watersmeet.engine.registry import Registered
from watersmeet.engine.registry.registry import MIN_ALIKE
from watersmeet.face.cli.common import common, loaded, opened, print_json, print_line, relative
from watersmeet.face.cli.progress import progress
from watersmeet.face.cli.registry_checks import show_duplicates

MAX_LISTED = 10


@click.command(
    "register",
    epilog="Examples: watersmeet register servers.json | watersmeet register ~/.claude/skills"
    " | watersmeet register tools.json --server /context7 | curl -s URL | watersmeet register -",
)
@click.argument("place", metavar="FILE|FOLDER|-", type=click.Path(allow_dash=True))
@click.option("--kind", metavar="TYPE", help="The type of records that do not name one.")
@click.option("--server", default="", metavar="PATH", help="The server that a list of tools belongs to.")
@click.option("--no-vectors", is_flag=True, help="Make no vectors; a later register or sync adds them.")
@click.option(
    "--no-deepen",
    is_flag=True,
    help="Leave the deep vectors for later; a running serve or mcp makes them in the background.",
)
@click.option("--check", is_flag=True, help="Register nothing; show what is a duplicate, as check-duplicates does.")
@common
def register_command(
    place: str,
    kind: str | None,
    server: str,
    no_vectors: bool,
    no_deepen: bool,
    check: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Register servers with their tools, agents, skills and entities of declared types.

    Reads a gateway registry's records, the official MCP registry's server.json and its list, tools/list answers, A2A
    agent cards, folders with SKILL.md files, container catalogues and corpora of records, in JSON, JSON lines or
    YAML. An entity whose path is registered already is replaced, unless it is unchanged.
    """
    if check:
        show_duplicates(place, kind or "", MIN_ALIKE, index, as_json, quiet)
        return
    folder = index_to_make(index)
    settings = loaded(flags={"index": {"vectors": False}} if no_vectors else {})
    source: str | bytes = sys.stdin.buffer.read() if place == "-" else place
    with Engine(folder, settings) as engine, progress(quiet or as_json) as callback:
        report = engine.registry.register(
            source, kind=kind or "", server=server, deepen=not no_deepen, progress=callback
        )
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        _print(report, folder)
    if report.skipped and not (report.registered or report.unchanged or report.duplicates):
        print(f"watersmeet: nothing was registered: {report.skipped[0].reason}", file=sys.stderr)
        print("  hint: `watersmeet register --help` lists the supported formats", file=sys.stderr)
        sys.exit(2)


@click.command("unregister", epilog="Example: watersmeet unregister /context7 /skills/pdf")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@common
def unregister_command(paths: tuple[str, ...], index: str, as_json: bool, quiet: bool) -> None:
    """Remove the entities with these paths, and their tools, from the registry."""
    with opened(index) as engine:
        removed = engine.registry.unregister(paths)
    _done(as_json, quiet, f"unregistered {removed}", unregistered=removed)


@click.command("set-status", epilog="Example: watersmeet set-status /context7 deprecated")
@click.argument("path", metavar="PATH")
@click.argument("status", metavar="|".join(STATUSES))
@common
def set_status_command(path: str, status: str, index: str, as_json: bool, quiet: bool) -> None:
    """Set the status of an entity. Searches leave out deprecated entities and drafts."""
    with opened(index) as engine:
        changed = engine.registry.set_status(path, status)
        now = engine.registry.get(path)["status"]
    _done(as_json, quiet, f"{path} is {now}", changed, path=path, status=now)


@click.command("enable", epilog="Example: watersmeet enable /context7")
@click.argument("path", metavar="PATH")
@common
def enable_command(path: str, index: str, as_json: bool, quiet: bool) -> None:
    """Show an entity in searches again."""
    with opened(index) as engine:
        changed = engine.registry.enable(path)
    _done(as_json, quiet, f"{path} is enabled", changed, path=path, enabled=True)


@click.command("disable", epilog="Example: watersmeet disable /context7")
@click.argument("path", metavar="PATH")
@common
def disable_command(path: str, index: str, as_json: bool, quiet: bool) -> None:
    """Hide an entity from searches, but keep it registered."""
    with opened(index) as engine:
        changed = engine.registry.disable(path)
    _done(as_json, quiet, f"{path} is disabled", changed, path=path, enabled=False)


@click.command("pull", epilog="Example: watersmeet pull")
@click.option("--no-deepen", is_flag=True, help="Leave the deep vectors for later.")
@common
def pull_command(no_deepen: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Bring the index up to date with the database that holds the registry.

    The setting registry.records names it; serve and mcp do this by themselves every few seconds.
    """
    with Engine(index_to_make(index), loaded()) as engine, progress(quiet or as_json) as callback:
        report = engine.registry.pull(whole=True, deepen=not no_deepen, progress=callback)
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        counts = f"{report.registered} registered, {report.removed} removed"
        print_line(f"{report.records} records in {report.place}: {counts} in {report.took_ms / 1000:.1f} s")
        _print_listed([("skipped", [(item.record, item.reason) for item in report.skipped])])
        if report.only_here:
            print(f"  {len(report.only_here)} entities are only in this index; register them again to share them")


def _done(as_json: bool, quiet: bool, message: str, changed: int | None = None, **facts: Any) -> None:
    """Print the result of these commands in one format: a changed entity counts as registered."""
    if as_json:
        unchanged = 0 if changed is None else 1 - changed
        print_json(
            {"registered": changed or 0, "unchanged": unchanged, "duplicates": 0, "skipped": []} | facts,
        )
    elif not quiet:
        print(message)


def _print(report: Registered, folder: str) -> None:
    counts = [
        f"{count} {name}"
        for name, count in (
            (f"registered with {report.tools} tools" if report.tools else "registered", report.registered),
            ("unchanged", report.unchanged),
            ("duplicates", report.duplicates),
            ("skipped", len(report.skipped)),
        )
        if count
    ]
    print(f"{', '.join(counts) or 'nothing to register'} in {report.took_ms / 1000:.1f} s")
    listed = [
        ("skipped", [(item.record, item.reason) for item in report.skipped]),
        ("duplicate", [(twin.record, twin.reason) for twin in report.twins]),
        ("warning", [(item.record, item.reason) for item in report.warnings]),
    ]
    _print_listed(listed)
    print(f"{report.documents} documents, {report.chunks} chunks in {relative(folder)}")


def _print_listed(listed: list[tuple[str, list[tuple[str, str]]]]) -> None:
    for name, items in listed:
        for record, reason in items[:MAX_LISTED]:
            print_line(f"  {name}: {relative(record)}: {reason}")
        if len(items) > MAX_LISTED:
            print(f"  ... and {len(items) - MAX_LISTED} more; --json lists all")
