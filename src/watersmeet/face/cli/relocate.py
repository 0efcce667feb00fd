"""`watersmeet relocate`."""

from __future__ import annotations

import time

import click

from watersmeet.face.cli.common import common, opened, print_json, print_line


@click.command("relocate", epilog="Example: watersmeet relocate /media/stick/notes ~/notes")
@click.argument("old", metavar="OLD", type=click.Path())
@click.argument("new", metavar="NEW", type=click.Path())
@common
def relocate_command(old: str, new: str, index: str, as_json: bool, quiet: bool) -> None:
    """Record that what was indexed from OLD is at NEW now. Ids, words and vectors stay; nothing is read again.

    OLD is a folder or file as `status` lists it, NEW its new place. This is not needed if you move a folder together
    with the .watersmeet in it.
    """
    start = time.perf_counter()
    with opened(index) as engine:
        documents = engine.relocate(old, new)
    if as_json:
        print_json({"documents": documents, "took_ms": round((time.perf_counter() - start) * 1000, 1)})
    elif not quiet:
        print_line(
            f"{documents} documents are at {new} now; run `watersmeet sync` to read what has changed there since"
        )
