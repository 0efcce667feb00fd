"""`watersmeet classify`."""

from __future__ import annotations

from dataclasses import asdict

import click

from watersmeet.core.errors import NoIndex
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index, index_to_make
from watersmeet.face.cli.common import common, loaded, print_json


@click.command("classify", epilog="Example: watersmeet classify 'Tell me about Room D40' --json")
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@common
def classify_command(query: tuple[str, ...], index: str, as_json: bool, quiet: bool) -> None:
    """Classify QUERY, and suggest a mode and a number of results for it.

    No index is needed; if there is one, it is used to tell which words are rare.
    """
    with Engine(_place(index), loaded()) as engine:
        found = asdict(engine.classify(" ".join(query)))
    if as_json:
        print_json(found)
        return
    weights = ", ".join(f"{name} {weight:g}" for name, weight in found["weights"].items())
    print(f"{found['kind']}, {found['length']}: {found['why']}")
    print(f"   {found['question_type']}, {found['complexity']} (confidence {found['confidence']:g})")
    print(f"   --mode {found['suggested_mode']} --top-n {found['suggested_top_n']}; {weights}")


def _place(index: str) -> str:
    try:
        return find_index(index)
    except NoIndex:
        if index:
            raise
        return index_to_make()
