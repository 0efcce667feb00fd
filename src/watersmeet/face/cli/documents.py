"""`watersmeet get`, `related`, `list` and `remove`."""

from __future__ import annotations

import sys

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.place import find_index
from watersmeet.face.cli.common import common, opened, print_json, table
from watersmeet.present.answer import place, to_json


@click.command("get", epilog="Example: watersmeet get guides/setup.md")
@click.argument("identity", metavar="ID")
@common
def get_command(identity: str, index: str, as_json: bool, quiet: bool) -> None:
    """Show a document or a chunk. ID is either's id, as `list` and `search` give it."""
    with opened(index) as engine:
        found = engine.get(identity)
    if as_json:
        print_json(found)
        return
    if not quiet:
        print(f"{found['title']}\n{found['path']}\n")
    print(found["text"])


@click.command("related", epilog="Example: watersmeet related guides/setup.md")
@click.argument("identity", metavar="ID")
@click.option("--top-n", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many results.")
@common
def related_command(identity: str, top_n: int, index: str, as_json: bool, quiet: bool) -> None:
    """Show what a document is linked with, in both directions."""
    with opened(index) as engine:
        answer = engine.related(identity, top_n)
    if as_json:
        print_json(to_json(answer))
    else:
        table(
            ["document", "title", "score", "by"],
            [
                [r.document, place(r), f"{r.score:.3f}", "; ".join(r.evidence[0].detail["paths"])]
                for r in answer.results
            ],
        )
    if not answer.results:
        if not quiet and not as_json:
            print("no links lead from or to it", file=sys.stderr)
        sys.exit(1)


@click.command("list", epilog="Example: watersmeet list --json")
@common
def list_command(index: str, as_json: bool, quiet: bool) -> None:
    """List the documents of the index."""
    with opened(index) as engine:
        documents = engine.documents()
    if as_json:
        print_json({"documents": documents})
        return
    names = ("document", "kind", "title", "modified", "chunks")
    table(list(names), [[str(document[name] or "") for name in names] for document in documents])


@click.command("remove", epilog="Example: watersmeet remove guides/old.md")
@click.argument("identities", nargs=-1, required=True, metavar="DOC...")
@common
def remove_command(identities: tuple[str, ...], index: str, as_json: bool, quiet: bool) -> None:
    """Forget documents. The next sync of their folder brings back those that are still there."""
    with Engine(find_index(index)) as engine:
        removed = engine.remove(identities)
    if as_json:
        print_json({"removed": removed})
    elif not quiet:
        print(f"removed {removed}")
