"""`watersmeet import`."""

from __future__ import annotations

import os
import sys
import time

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import index_to_make, is_address
from watersmeet.face.cli.common import common, loaded, not_empty, print_json, print_line, relative
from watersmeet.face.cli.progress import progress
from watersmeet.face.cli.sync import print_report

TEXTS = "imported"
"""The folder for stored texts, beside the index."""


@click.command(
    "import",
    epilog="Examples: watersmeet import .docmancer | watersmeet import .index_data --root ~/notes --dry-run | "
    "watersmeet import projects/my-rag --stored",
)
@click.argument("place", type=click.Path(), callback=not_empty, metavar="FOLDER|DB")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Where the files are that the index names by relative paths; default: here, and beside the index.",
)
@click.option("--stored", is_flag=True, help="Read no source, only the texts that the index has stored.")
@click.option(
    "--texts",
    default="",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help=f"The folder for texts whose source is gone.  [default: {TEXTS} beside the index]",
)
@click.option("--dry-run", is_flag=True, help="Show what would be read, and write nothing.")
@common
def import_command(
    place: str,
    roots: tuple[str, ...],
    stored: bool,
    texts: str,
    dry_run: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Take over the documents of another program's index: that of docmancer (docmancer.db), of ragdocs-mcp
    (index.manifest.json), or a project of IndexFoundry (sources.jsonl).

    The folders and sites that it lists are synced. Of files and sites that are gone, the stored texts are written as
    Markdown files into a folder that is synced. Records of a registry: see `register` and `pull`.
    """
    from watersmeet.engine.migration.documents import import_documents

    start = time.perf_counter()
    here = index_to_make(index)
    beside = "." if is_address(here) else os.path.dirname(os.path.abspath(here))
    with Engine(here, loaded()) as engine, progress(quiet or as_json) as callback:
        report = import_documents(
            engine,
            place,
            os.path.abspath(texts or os.path.join(beside, TEXTS)),
            roots=roots or (os.path.abspath("."),),
            stored_only=stored,
            dry_run=dry_run,
            progress=callback,
        )
    report.sync.took_ms = (time.perf_counter() - start) * 1000
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        print_line(f"an index of {report.program}")
        for one in report.sources:
            reason = f" ({one.reason})" if one.reason else ""
            print_line(f"  {one.how}: {one.source}, {one.documents} documents{reason}")
        if report.texts:
            would = "would be " if dry_run else ""
            print_line(f"  {report.written} texts {would}written to {relative(report.texts)}")
        if dry_run:
            print("nothing was written: this was a dry run")
        else:
            print_report(report.sync, here)
    if not report.found:
        sys.exit(1)
