"""`watersmeet trust`."""

from __future__ import annotations

import json
import time

import click

from watersmeet.engine.settings import trust
from watersmeet.face.cli.common import common, print_json, print_line


@click.command("trust", epilog="Examples: watersmeet trust . | watersmeet trust --remove ~/downloads/wiki")
@click.argument("folder", required=False, metavar="FOLDER", type=click.Path())
@click.option("--remove", is_flag=True, help="Stop trusting it.")
@common
def trust_command(folder: str | None, remove: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Apply all settings in FOLDER/watersmeet.toml; without FOLDER, list the folders that you trust.

    Any folder's file may set how to search: pipeline, query, signal, fusion, stage, two_stage, chunk, dates, include,
    exclude, and which vectors to leave out. Settings that name a path, an address, a model or a variable apply only if
    you trust the folder, and only until the file changes.
    """
    start = time.perf_counter()
    facts = _changed(folder, remove, quiet or as_json) if folder else _listed(remove, as_json)
    if as_json:
        print_json({**facts, "took_ms": (time.perf_counter() - start) * 1000})


def _changed(folder: str, remove: bool, quiet: bool) -> dict[str, object]:
    values: dict[str, object] = {}
    if remove:
        folder = trust.distrust(folder)
        message = f"{folder} is no longer trusted"
    else:
        folder, values = trust.trust(folder)
        message = f"{folder} is trusted" + ("; these settings of its file apply now:" if values else "")
    if not quiet:
        print_line(message)
        for setting, value in values.items():
            print_line(f"  {setting} = {json.dumps(value, ensure_ascii=False, default=str)}")
    return {"folder": folder, "trusted": not remove, "settings": values}


def _listed(remove: bool, as_json: bool) -> dict[str, object]:
    if remove:
        raise click.UsageError("--remove needs a FOLDER", click.get_current_context())
    folders = [{"folder": folder, "trusted": trust.unchanged(folder)} for folder in trust.trusted()]
    for one in () if as_json else folders:
        print_line(f"{one['folder']}" + ("" if one["trusted"] else "  not trusted: its file has changed since"))
    return {"folders": folders}
