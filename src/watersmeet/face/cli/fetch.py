"""`watersmeet fetch`."""

from __future__ import annotations

import os
import time

import click

from watersmeet.engine.sync.page_files import save_pages
from watersmeet.face.cli.common import common, loaded, print_json, print_line
from watersmeet.face.cli.progress import progress

MAX_LISTED = 10


@click.command("fetch", epilog="Example: watersmeet fetch https://docs.example.org/ --output docs --max-pages 50")
@click.argument("url")
@click.option(
    "--output", required=True, type=click.Path(file_okay=False), metavar="DIR", help="The folder for the files."
)
@click.option("--max-pages", type=click.IntRange(1, 1_000_000), metavar="N", help="Most pages to save.  [default: 500]")
@common
def fetch_command(url: str, output: str, max_pages: int | None, index: str, as_json: bool, quiet: bool) -> None:
    """Save the pages of a website, or one page or file, as Markdown files. No index is needed.

    Pages are found and read as by `sync`. Files of the same name in DIR are replaced, others are left alone.
    """
    start = time.perf_counter()
    with progress(quiet or as_json) as callback:
        saved = save_pages(loaded(start="."), url, os.path.abspath(output), max_pages or 0, callback)
    took_ms = (time.perf_counter() - start) * 1000
    lists = {"skipped": saved.skipped, "warnings": saved.warnings, "notes": saved.notes}
    if as_json:
        listed = {key: [{"path": item.path, "reason": item.reason} for item in items] for key, items in lists.items()}
        print_json({"files": saved.files, **listed, "took_ms": round(took_ms, 1)})
    elif not quiet:
        print(f"{len(saved.files)} files in {output} in {took_ms / 1000:.1f} s")
        for name, items in lists.items():
            for item in items[:MAX_LISTED]:
                print_line(f"  {name.removesuffix('s') if name != 'skipped' else name}: {item.path}: {item.reason}")
            if len(items) > MAX_LISTED:
                print(f"  ... and {len(items) - MAX_LISTED} more {name}; --json lists all")
