"""`watersmeet clear`."""

from __future__ import annotations

import sys
import time

import click

from watersmeet.core.errors import ConfigError, NoIndex
from watersmeet.engine.clearing import Place, delete, places_to_clear
from watersmeet.engine.index.location import find_index, is_address
from watersmeet.face.cli.common import common, print_json, print_line


@click.command(
    "clear",
    epilog="Examples: watersmeet clear --dry-run | watersmeet clear --keep-config --yes | watersmeet clear --index DIR",
)
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option("--keep-config", is_flag=True, help="Keep your settings, trusted folders and tokens.")
@click.option("--keep-cache", is_flag=True, help="Keep the cache: indexes of --in, clones, models, vectors by text.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@common
def clear_command(
    dry_run: bool, keep_config: bool, keep_cache: bool, yes: bool, index: str, as_json: bool, quiet: bool
) -> None:
    """Delete what watersmeet has made: the index of this folder, your cache, and your settings and tokens.

    Files that were indexed, and the watersmeet.toml of a folder, stay. Other indexes stay too: name each with --index.
    """
    start = time.perf_counter()
    if is_address(index):
        raise ConfigError("an index in the network is not deleted by this command", "name a folder")
    try:
        place = find_index(index)
    except NoIndex:
        if index:
            raise
        place = ""
    found = places_to_clear(place, cache=not keep_cache, config=not keep_config)
    if not dry_run and found and not yes:
        _ask(found)
    if not dry_run:
        for one in found:
            delete(one)
    if as_json:
        listed = [{"kind": one.kind, "path": one.path, "size_bytes": one.size} for one in found]
        took = round((time.perf_counter() - start) * 1000, 1)
        print_json({"deleted": [] if dry_run else listed, "planned": listed, "dry_run": dry_run, "took_ms": took})
    elif not quiet:
        for one in found:
            print_line(f"{'would delete' if dry_run else 'deleted'} {_named(one)}")
        if not found:
            print("there is nothing to delete")
        elif dry_run:
            print("nothing was deleted: this was a dry run")


def _named(one: Place) -> str:
    return f"{one.kind} {one.path} ({one.size / 1_000_000:.1f} MB)"


def _ask(found: list[Place]) -> None:
    if not sys.stdin.isatty():
        raise ConfigError("this deletes files, and nobody can be asked", "--yes deletes, --dry-run shows what")
    for one in found:
        print_line(f"will delete {_named(one)}")
    click.confirm("delete?", abort=True)
