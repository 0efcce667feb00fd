"""`watersmeet export`."""

from __future__ import annotations

import sys

import click

from watersmeet.face.cli.common import common, not_empty, opened, print_json, print_line


@click.command("export", epilog="Example: watersmeet export ../search-server && python3 ../search-server/run.py")
@click.argument("folder", metavar="DIR", type=click.Path(), callback=not_empty)
@click.option("--wheels", is_flag=True, help="Include all packages, for a machine without a network.")
@click.option("--private", is_flag=True, help="Include private documents. Default: only what everyone may see.")
@common
def export_command(folder: str, wheels: bool, private: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Write a folder that serves this index alone: a copy of it, settings, pinned requirements and a start script.

    DIR is a new or empty folder, or an earlier export, which is updated in place: its server goes on with the new one.
    `python3 DIR/run.py` starts the server, on any machine with the same Python version and platform. It ranks as this
    index does now; later changes here do not reach it.
    """
    from watersmeet.engine.export.export import export

    def progress(step: str) -> None:
        if not quiet:
            print(step, file=sys.stderr, flush=True)

    with opened(index) as engine:
        report = export(engine, folder, private=private, wheels=wheels, progress=progress)
    if as_json:
        print_json(report.to_json())
        return
    for warning in report.warnings:
        print(f"watersmeet: {warning}", file=sys.stderr)
    if not quiet:
        size = report.size_bytes / 1e6
        print_line(f"{report.documents} documents, {size:.1f} MB in {report.folder}; start it: python3 {folder}/run.py")
