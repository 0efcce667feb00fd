"""`watersmeet audit`."""

from __future__ import annotations

import sys
from typing import Any

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.face.cli.common import common, counted, loaded, print_json, table


@click.command("audit", epilog="Examples: watersmeet audit --since 7d | watersmeet audit --json | jq '.entries[0]'")
@click.option("--since", default="", metavar="DATE", help="Only changes since then: 2026-01-31, or 12h, 7d, 2w ago.")
@counted(None, "number of changes", 100)
@common
def audit_command(since: str, top_n: int, index: str, as_json: bool, quiet: bool) -> None:
    """Show who changed what, the last change first: registered entities, syncs, removals, tokens."""
    with Engine(find_index(index), loaded()) as engine:
        found = engine.audit(since, top_n)
    if as_json:
        print_json({"entries": found})
        return
    rows = [[one["at"][:19], one["action"], _by(one["by"]), _what(one), _outcome(one)] for one in found]
    if rows:
        table(["at (UTC)", "change", "by", "what", "result"], rows)
    elif not quiet:
        print("no change is recorded", file=sys.stderr)


def _by(actor: dict[str, str]) -> str:
    token = f"token {actor['token']}" if actor.get("token") else ""
    return " ".join(filter(None, [actor.get("user", ""), token, f"({actor.get('via', '')})"]))


def _what(one: dict[str, Any]) -> str:
    shown = ", ".join(one["targets"][:3])
    more = one["count"] - len(one["targets"][:3])
    return f"{shown} and {more} more" if more > 0 else shown


def _outcome(one: dict[str, Any]) -> str:
    if one["state"] == "begun":
        return "begun, not ended"
    values = {**one.get("detail", {}), **one.get("result", {})}
    said = ", ".join(f"{key} {value}" for key, value in values.items() if value not in (0, "", []))
    return f"failed: {said}" if one["state"] == "failed" else said
