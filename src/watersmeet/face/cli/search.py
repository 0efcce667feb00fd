"""`watersmeet search`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from watersmeet.core.errors import ConfigError, IndexBusy
from watersmeet.core.model import Answer
from watersmeet.engine.engine import Engine
from watersmeet.engine.modes import ABSENT
from watersmeet.engine.place import find_index, index_in
from watersmeet.engine.settings import load, recipes
from watersmeet.face.asking import Asking, ask, filters_of
from watersmeet.face.cli.common import (
    KEPT,
    common,
    counted,
    for_people,
    formatted,
    inside,
    near,
    print_json,
    print_line,
)
from watersmeet.present.answer import breakdown, explain_line, place, where
from watersmeet.present.snippet import snippet

if TYPE_CHECKING:
    from watersmeet.present.pack import Pack

MODES = ("lexical", "exact", "static", "dense", "sparse", "hybrid")
DEEPENED = 10.0
"""Seconds that `--in` spends on deep vectors before it answers; the next call goes on from there."""


@click.command(
    "search",
    epilog="Examples: watersmeet search 'rotate keys' --filter tag=security | wm search E0308 --json",
)
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@inside(f"Search this folder; it is indexed first if need be. {KEPT}")
@click.option(
    "--mode",
    default="",
    metavar="MODE",
    shell_complete=lambda ctx, param, start: [mode for mode in MODES if mode.startswith(start)],
    help="lexical, exact, static, dense, sparse or hybrid; default: the best.",
)
@click.option(
    "--recipe",
    default="",
    metavar="NAME",
    shell_complete=lambda ctx, param, start: [name for name in recipes() if name.startswith(start)],
    help=f"Which recipe answers: {', '.join(recipes())}.",
)
@counted(1000, "How many results; 10, or what fits the budget.", None)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="K=V",
    help="Only documents with this. tag=food: that tag or one below it, such as food/bread. path=guides/**: a glob "
    "held against the whole id as `list` shows it, or without a slash, path=*.txt, against the file's name. kind=, "
    "collection= or any field of the front matter, such as status=done: that value, in upper or lower case. Repeated: "
    "any of the values of one key, and all of the keys.",
)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Short for --filter kind=KIND.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Short for --filter tag=TAG; #TAG in the query, too.")
@click.option("--since", default="", metavar="DATE", help="Changed since: 2026-01-31, or 7d, 2w, 3m, 1y ago.")
@click.option("--before", default="", metavar="DATE", help="Changed before.")
@click.option("--intent", default="", metavar="TEXT", help="What the answer is for.")
@click.option("--explain", is_flag=True, help="Say which signal put each result where it is.")
@click.option("--why-not", metavar="DOC", default="", help="Say where this document fell out, and why.")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="The best passages in at most so many tokens.")
@click.option(
    "--strict",
    is_flag=True,
    help="Fail if any signal of the recipe could not vote: it failed, or its vectors are missing or too few so far.",
)
@formatted
@common
def search_command(
    query: tuple[str, ...],
    inside: str,
    mode: str,
    recipe: str,
    top_n: int | None,
    filters: tuple[str, ...],
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    since: str,
    before: str,
    intent: str,
    explain: bool,
    why_not: str,
    budget: int | None,
    strict: bool,
    form: str,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find the passages that answer QUERY. Every character of it is text: there is no query language."""
    as_json = as_json or form == "json"
    filters = (*filters, *(f"kind={kind}" for kind in kinds), *(f"tag={tag}" for tag in tags))
    wanted = filters_of(filters) if filters else {}
    asking = Asking(
        " ".join(query), mode, recipe, top_n, wanted, since, before, intent, explain, why_not, budget, strict
    )
    with Engine(_index(inside, index, quiet or as_json), load(recipe=recipe)) as engine:
        found = ask(engine, asking)
    for note in () if as_json or quiet else found.notes:
        print(note, file=sys.stderr)
    if as_json:
        print_json(found.to_json())
    elif found.pack is not None:
        _print_pack(found.answer, found.pack)
    else:
        if explain and found.answer.expansion and not quiet:
            print(f"related terms, for meaning: {', '.join(found.answer.expansion)}", file=sys.stderr)
        _print(found.answer, explain, quiet, form)
        if found.missing:
            print(found.missing)
    if not found.answer.results:
        sys.exit(1)


def _index(inside: str, index: str, quiet: bool) -> str:
    if not inside:
        return find_index(index)
    if index:
        raise ConfigError("--in and --index exclude each other", "--in keeps its index in the cache folder")
    from watersmeet.engine.cached import in_step
    from watersmeet.face.cli.progress import progress

    folder = index_in(inside)
    with Engine(folder, load(start=inside)) as engine, progress(quiet) as tell:
        try:
            in_step(engine, inside, tell)
            engine.deepen(tell, DEEPENED)
        except IndexBusy as busy:  # someone else is bringing it up to date: what there is can be searched
            print(f"searching what is indexed so far: {busy}", file=sys.stderr)
    return folder


def _print_pack(answer: Answer, made: Pack) -> None:
    """The passages as one text to read, with citations."""
    _print_failures(answer)
    if answer.results and not made.citations:
        from watersmeet.present.pack import nothing_packed

        print(nothing_packed(made.budget), file=sys.stderr)
    print(made.text)


def _nothing(query: str) -> str:
    asks = any(character.isalnum() for character in query)
    return "nothing found" if asks else "nothing found: the query has no letters or digits to look for"


def _print_failures(answer: Answer) -> None:
    for failure in answer.failures:
        print(
            f"without {failure.by}: {failure.reason}" + (f" ({failure.hint})" if failure.hint else ""), file=sys.stderr
        )


def _print(answer: Answer, explain: bool, quiet: bool, form: str) -> None:
    _print_failures(answer)
    if explain and not quiet:
        steps = ", ".join(f"{name} {took:.1f} ms" for name, took in answer.timings.items())
        print(f"mode {answer.mode}, recipe {answer.recipe}: {steps}", file=sys.stderr)
    if not quiet:
        for name, reason in answer.silent.items():
            if explain or reason != ABSENT:
                print(f"{name} does not vote: {reason}", file=sys.stderr)
    if not answer.results and not quiet:
        print(_nothing(answer.query), file=sys.stderr)
    if form == "markdown":
        from watersmeet.present.markdown import markdown

        if answer.results:
            print(markdown(answer, explain))
        return
    if not form and for_people():
        from watersmeet.face.cli.pretty import print_answer

        print_answer(answer, explain, quiet)
        return
    for number, result in enumerate(answer.results, 1):
        print_line(explain_line(result) if explain else f"{number}. {place(result)}")
        print_line(f"   {where(result, near)}  score {result.score:.3f}")
        for line in breakdown(result) if explain else ():
            print(f"   {line}")
        for line in snippet(result.text, answer.query):
            print(f"   {line}")
