"""`watersmeet backup` and `watersmeet restore`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import absolute, index_to_make
from watersmeet.face.cli.common import common, dumps, loaded, not_empty, opened, print_line, relative

file_argument = click.argument("file", metavar="FILE", type=click.Path(), callback=not_empty)


@click.command("backup", epilog="Example: watersmeet backup ~/backups/notes.tar")
@file_argument
@common
def backup_command(file: str, index: str, as_json: bool, quiet: bool) -> None:
    """Write the whole index into one file, while others search and write it.

    It holds documents, vectors, the registry, private entities too, and what was learned, with checksums: restored
    anywhere, it gives the same answers. An earlier backup of this name is replaced once the new one is complete.
    """
    from watersmeet.engine.backup.backup import back_up

    with opened(index) as engine:
        report = back_up(engine.index, engine.settings, file, _progress(as_json))
    if as_json:
        print(dumps(report.to_json()), flush=True)
    elif not quiet:
        print_line(f"{report.documents} documents, {report.size_bytes / 1e6:.1f} MB in {relative(report.file)}")


@click.command("restore", epilog="Example: watersmeet restore ~/backups/notes.tar --index /srv/notes/.watersmeet")
@file_argument
@click.option("--replace", is_flag=True, help="Replace the index that is there.")
@common
def restore_command(file: str, replace: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Make an index from a backup: all of it, or nothing.

    Restore only what you backed up yourself: the folders and addresses that it names are read by the next sync. If they
    are elsewhere now, `watersmeet relocate OLD NEW` says so.
    """
    from watersmeet.engine.backup.backup import restore

    with Engine(absolute(index_to_make(index)), loaded()) as engine:
        report = restore(engine.index, engine.settings, file, replace=replace, progress=_progress(as_json))
    if as_json:
        print(dumps(report.to_json()), flush=True)
    elif not quiet:
        print_line(f"{report.documents} documents in {relative(report.index)}, as of {report.made}")


def _progress(as_json: bool) -> Callable[[dict[str, Any]], None]:
    """Progress as lines of JSON, which a program can follow; for people it takes too short a time."""
    return (lambda step: print(dumps(step), flush=True)) if as_json else lambda _: None
