"""`watersmeet tags`."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from watersmeet.face.cli.common import common, formatted, opened, print_json, table
from watersmeet.face.cli.params import flags, from_flags
from watersmeet.face.listing import TagParams


@click.command("tags", epilog="Examples: watersmeet tags | watersmeet tags food/ | watersmeet tags --since 3m --json")
@click.argument("prefix", default="")
@flags(TagParams, without=("prefix",))
@formatted
@common
def tags_command(form: str, index: str, as_json: bool, quiet: bool, **values: Any) -> None:
    """List the tags of the documents, the commonest first; with PREFIX, those that begin with it.

    The number of documents is that of `list --tag TAG`: a document with the tag food/bread counts for food too.
    """
    params = from_flags(TagParams, values)
    start = time.perf_counter()
    with opened(index) as engine:
        found = engine.tags(prefix=params.prefix, **params.options())
    if as_json or form == "json":
        print_json({"tags": found, "took_ms": round((time.perf_counter() - start) * 1000, 3)})
    elif found:
        table(["tag", "documents"], [[one["tag"], str(one["documents"])] for one in found], form)
    if not found:
        if not quiet and not as_json:
            print("no tags" + (" of such documents" if params.options() or params.prefix else ""), file=sys.stderr)
        sys.exit(1)
