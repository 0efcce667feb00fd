"""`watersmeet check-duplicates`, `review`, `provenance`, `embeddings` and `reindex`."""

from __future__ import annotations

import sys
from typing import Any

import click

from watersmeet.core.errors import ConfigError
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.engine.registry.registry import MIN_ALIKE
from watersmeet.face.cli.common import common, loaded, opened, print_json, print_line, relative, table
from watersmeet.face.cli.progress import progress

MAX_LISTED = 20


@click.command("check-duplicates", epilog="Example: watersmeet check-duplicates new-servers.json")
@click.argument("place", metavar="FILE|FOLDER|-", type=click.Path(allow_dash=True))
@click.option("--kind", metavar="TYPE", help="The type of records that do not name one.")
@click.option(
    "--min-score",
    default=MIN_ALIKE,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of common words from which a near duplicate is listed.",
)
@common
def check_duplicates_command(
    place: str, kind: str | None, min_score: float, index: str, as_json: bool, quiet: bool
) -> None:
    """Show which registered entities the records of a file would repeat; nothing is registered.

    Lists entities with the same path, name or content, and those that say almost the same, with a score. Exit code 1 if
    there are none.
    """
    show_duplicates(place, kind or "", min_score, index, as_json, quiet)


def show_duplicates(place: str, kind: str, min_score: float, index: str, as_json: bool, quiet: bool) -> None:
    """Print what the records of a place would repeat, and exit with 1 if that is nothing."""
    source: str | bytes = sys.stdin.buffer.read() if place == "-" else place
    with Engine(find_index(index), loaded()) as engine:
        found = engine.registry.check_duplicates(source, kind=kind, min_score=min_score)
    if as_json:
        print_json(found)
    else:
        rows = [
            [record["path"], one["path"], ", ".join(one["matches"]), f"{one['score']:.2f}", one["name"]]
            for record in found["records"]
            for one in record["duplicates"]
        ]
        if rows:
            table(["record", "registered as", "same", "score", "name"], rows)
        for skipped in found["skipped"]:
            print_line(f"  skipped: {relative(skipped['record'])}: {skipped['reason']}")
        if not quiet:
            print(f"{found['duplicates']} of {found['checked']} records have duplicates", file=sys.stderr)
    if not found["duplicates"]:
        sys.exit(1)


@click.command(
    "review", epilog="Examples: watersmeet review | watersmeet review --accept '/context7#query-docs=91c0d4a2b7e63f58'"
)
@click.option(
    "--accept", "accepted", multiple=True, metavar="ID=HASH", help="Accept a description with the hash that was listed."
)
@common
def review_command(accepted: tuple[str, ...], index: str, as_json: bool, quiet: bool) -> None:
    """List descriptions that a person should read: agents act on them.

    These are descriptions of entities and tools that have changed since they were registered, and those that read like
    instructions to an agent. A description is flagged in search results until its present text is accepted.
    """
    with opened(index) as engine:
        for text in accepted:
            identity, sign, hash = text.rpartition("=")
            if not sign:
                raise ConfigError(f"{text!r} has no hash", "write --accept ID=HASH, as `watersmeet review` lists them")
            engine.registry.accept(identity, hash)
        found = engine.registry.review()
    if as_json:
        print_json({"accepted": len(accepted), "descriptions": found})
        return
    for one in found:
        print_line(f"{one['id']}={one['hash']}: {'; '.join(one['reasons'])}")
        if one["before"]:
            print_line(f"  before: {_short(one['before'])}")
        print_line(f"  now:    {_short(one['text'])}")
    if not quiet:
        print(f"{len(accepted)} accepted, {len(found)} to be read", file=sys.stderr)


@click.command("provenance", epilog="Example: watersmeet provenance /context7")
@click.argument("path", metavar="PATH")
@common
def provenance_command(path: str, index: str, as_json: bool, quiet: bool) -> None:
    """Show where a registered entity came from: file or database, program, user and time."""
    with opened(index) as engine:
        found = engine.registry.provenance(path)
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        print_line(f"{name}: {value}")


@click.command("embeddings", epilog="Example: watersmeet embeddings --json")
@common
def embeddings_command(index: str, as_json: bool, quiet: bool) -> None:
    """List entities and tools with a missing vector, or with one of another model or text.

    `watersmeet deepen` makes missing vectors, `watersmeet reindex` makes those of entities anew.
    """
    with opened(index) as engine:
        found = engine.registry.embeddings()
    if as_json:
        print_json(found)
        return
    _rows("missing", [(one["path"], ", ".join(one["tiers"])) for one in found["missing"]])
    _rows("stale", [(one["path"], one["reason"]) for one in found["stale"]])
    if not quiet:
        counts = f"{len(found['missing'])} without a vector, {len(found['stale'])} with a stale one"
        print(f"{found['entities']} entities and tools, {counts}", file=sys.stderr)


@click.command("reindex", epilog="Example: watersmeet reindex /context7")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@common
def reindex_command(paths: tuple[str, ...], index: str, as_json: bool, quiet: bool) -> None:
    """Make the documents of entities anew from their records, and their missing vectors; of all, without a path."""
    with opened(index) as engine, progress(quiet or as_json) as callback:
        report = engine.registry.reindex(paths, progress=callback)
    if as_json:
        print_json(report._asdict())
    elif not quiet:
        print(f"{report.reindexed} reindexed, {report.embedded} vectors made in {report.took_ms / 1000:.1f} s")


def _rows(name: str, found: list[tuple[Any, str]]) -> None:
    for path, about in found[:MAX_LISTED]:
        print_line(f"{name}: {path} ({about})")
    if len(found) > MAX_LISTED:
        print(f"... and {len(found) - MAX_LISTED} more; --json lists all")


def _short(text: str) -> str:
    return " ".join(text.split())[:300]
