"""`watersmeet search`."""

from __future__ import annotations

import sys

import click

from watersmeet.core.model import Answer, Request
from watersmeet.engine.asked import condition
from watersmeet.engine.engine import Engine
from watersmeet.engine.place import find_index, index_in
from watersmeet.engine.settings import load
from watersmeet.face.cli.common import common, for_people, print_json
from watersmeet.present.answer import explain_line, place, to_json
from watersmeet.present.snippet import snippet


@click.command(
    "search", epilog="Examples: watersmeet search 'rotate keys' --filter tag=security | wm search E0308 --json"
)
@click.argument("query")
@click.option("--in", "inside", metavar="PATH", default="", help="Search this folder; it is indexed first if need be.")
@click.option("--mode", default="", metavar="MODE", help="lexical or exact; default: the best the index can do.")
@click.option("--recipe", default="", metavar="NAME", help="Which recipe answers.")
@click.option("--top-n", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many results.")
@click.option(
    "--filter", "filters", multiple=True, metavar="K=V", help="kind, tag, path (glob), collection or any field."
)
@click.option("--since", default="", metavar="DATE", help="Changed since: 2026-01-31, or 7d, 2w, 3m, 1y ago.")
@click.option("--before", default="", metavar="DATE", help="Changed before.")
@click.option("--intent", default="", metavar="TEXT", help="What the answer is for.")
@click.option("--explain", is_flag=True, help="Say which signal put each result where it is.")
@click.option("--strict", is_flag=True, help="Fail if any signal could not run.")
@common
def search_command(
    query: str,
    inside: str,
    mode: str,
    recipe: str,
    top_n: int,
    filters: tuple[str, ...],
    since: str,
    before: str,
    intent: str,
    explain: bool,
    strict: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find the passages that answer QUERY. Every character of it is text: there is no query language."""
    request = Request(query, mode, recipe, top_n, condition(filters, since, before), intent, strict)
    with Engine(_index(inside, index, quiet or as_json), load(recipe=recipe)) as engine:
        answer = engine.search(request)
    if as_json:
        print_json(to_json(answer))
    else:
        _print(answer, explain, quiet)
    if not answer.results:
        sys.exit(1)


def _index(inside: str, index: str, quiet: bool) -> str:
    if not inside:
        return find_index(index)
    from watersmeet.face.cli.progress import progress

    folder = index_in(inside)
    with Engine(folder, load(start=inside)) as engine, progress(quiet) as tell:
        engine.sync([inside], tell=tell)
    return folder


def _print(answer: Answer, explain: bool, quiet: bool) -> None:
    for failure in answer.failures:
        print(
            f"without {failure.by}: {failure.reason}" + (f" ({failure.hint})" if failure.hint else ""), file=sys.stderr
        )
    if explain and not quiet:
        steps = ", ".join(f"{name} {took:.1f} ms" for name, took in answer.timings.items())
        print(f"mode {answer.mode}, recipe {answer.recipe}: {steps}", file=sys.stderr)
    if not answer.results and not quiet:
        print("nothing found", file=sys.stderr)
    if for_people():
        from watersmeet.face.cli.pretty import print_answer

        print_answer(answer, explain)
        return
    for number, result in enumerate(answer.results, 1):
        print(explain_line(result) if explain else f"{number}. {place(result)}")
        print(f"   {result.path}:{result.lines[0]}  score {result.score:.3f}")
        for line in snippet(result.text, answer.query):
            print(f"   {line}")
