"""`watersmeet rollback`."""

from __future__ import annotations

from typing import cast

import click

from watersmeet.core.errors import IndexProblem
from watersmeet.core.index import Generations
from watersmeet.engine.index.generations import roll_back
from watersmeet.face.cli.common import common, opened, print_json, print_line, relative


@click.command("rollback", epilog="Examples: watersmeet rollback | watersmeet rollback --forget")
@click.option("--forget", is_flag=True, help="Delete the previous index instead, which frees its room.")
@common
def rollback_command(forget: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Take back the index that there was before `sync --recreate`.

    In PostgreSQL also the one before `push` or `restore --replace`. The present one is kept in its place, so a second
    rollback undoes the first. What is registered, and who may see what, stays as it is now. Settings are not rolled
    back: set the models back too if they were changed. The next sync brings it up to date.
    """
    with opened(index) as engine:
        if not hasattr(engine.index, "roll_back"):
            raise IndexProblem(f"{engine.folder} has no generations", "one in a folder or in PostgreSQL has")
        place = cast(Generations, engine.index)
        if forget:
            freed = place.forget_previous()
            print_json({"freed_bytes": freed}) if as_json else print_line(f"{freed / 1e6:.1f} MB freed")
            return
        previous = roll_back(engine)
        documents = engine.status()["documents"]
    if as_json:
        print_json({"documents": documents, "previous": previous})
    elif not quiet:
        print_line(f"{documents} documents, as before; the other index is kept in {relative(previous)}")
