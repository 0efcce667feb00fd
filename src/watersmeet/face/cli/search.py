"""`watersmeet search`."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from watersmeet.core.errors import ConfigError, IndexBusy
from watersmeet.core.model import Answer
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index, index_in
from watersmeet.engine.query.modes import ABSENT
from watersmeet.engine.settings.settings import Settings
from watersmeet.face.cli.common import (
    KEPT,
    common_with_indexes,
    dumps,
    for_people,
    formatted,
    inside,
    loaded,
    made_ready,
    near,
    print_json,
    print_line,
)
from watersmeet.face.cli.params import flags, given
from watersmeet.face.search import SearchParams, Sent, filters_of, run_search
from watersmeet.present.answer import breadcrumb, breakdown, explain_line, location, routed_line
from watersmeet.present.snippet import snippet

if TYPE_CHECKING:
    from watersmeet.engine.query.multi_index import MultiIndex

DEEPENED = 10.0
"""Seconds that `--in` spends on deep vectors before it answers; the next call goes on from there."""


@click.command(
    "search",
    epilog="Examples: watersmeet search 'rotate keys' --filter tag=security | wm search E0308 --json",
)
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@inside(f"Search this folder; it is indexed first if need be. {KEPT}")
@flags(SearchParams, without=("query",))
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Short for --filter kind=KIND.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Short for --filter tag=TAG; #TAG in the query, too.")
@formatted
@common_with_indexes
def search_command(
    query: tuple[str, ...],
    inside: str,
    filters: tuple[str, ...],
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    form: str,
    indexes: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Find the passages that answer QUERY. Every character of it is text: there is no query language."""
    as_json = as_json or form == "json"
    filters = (*filters, *(f"kind={kind}" for kind in kinds), *(f"tag={tag}" for tag in tags))
    params = given(SearchParams, values, query=" ".join(query), filters=filters_of(filters) if filters else {})
    sent = Sent(dumps=dumps) if as_json else Sent(text=True, dumps=None)
    with ExitStack() as stack:
        found = run_search(_opened(stack, inside, indexes, params, quiet or as_json), params, sent=sent)
    explain = params.explain
    for note in () if as_json or quiet else found.notes:
        print(note, file=sys.stderr)
    if as_json:
        print_json(found.to_json(), brief=params.budget is not None)
    elif found.pack is not None:
        _print_failures(found.answer)
        if found.found:
            print(found.pack.text)
    else:
        if explain and found.answer.expansion and not quiet:
            print(f"related terms, for meaning: {', '.join(found.answer.expansion)}", file=sys.stderr)
        for one in found.answer.routed if explain and not quiet else ():
            print(routed_line(one), file=sys.stderr)
        _print(found.answer, explain, quiet, form)
        if found.missing:
            print(found.missing)
    if not found.found:
        sys.exit(1)


def _opened(
    stack: ExitStack, inside: str, indexes: tuple[str, ...], params: SearchParams, quiet: bool
) -> Engine | MultiIndex:
    """The index to search, or all that were named."""
    settings = loaded(start=inside or ".", recipe=params.recipe)
    if inside:
        if indexes:
            raise ConfigError("--in and --index exclude each other", "--in keeps its index in the cache folder")
        places = [_in_step(inside, settings, quiet)]
    else:
        named = [find_index(index) for index in indexes or ("",)]
        places = list({os.path.realpath(place): place for place in named}.values())
    engines = [stack.enter_context(Engine(place, settings)) for place in places]
    for engine in engines:
        made_ready(engine, params.mode, quiet)
    if len(engines) == 1:
        return engines[0]
    from watersmeet.engine.query.multi_index import MultiIndex

    return MultiIndex(engines)


def _in_step(inside: str, settings: Settings, quiet: bool) -> str:
    """The index of `--in`, brought up to date."""
    from watersmeet.engine.sync.folder_cache import sync_folder_cache
    from watersmeet.face.cli.progress import progress

    folder = index_in(inside)
    with Engine(folder, settings) as engine, progress(quiet) as tell:
        try:
            sync_folder_cache(engine, inside, tell)
            engine.deepen(tell, DEEPENED)
        except IndexBusy as busy:  # someone else is bringing it up to date: what there is can be searched
            print(f"searching what is indexed so far: {busy}", file=sys.stderr)
    return folder


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
        print_line(explain_line(result) if explain else f"{number}. {breadcrumb(result)}")
        print_line(f"   {location(result, near)}  score {result.score:.3f}")
        for line in breakdown(result) if explain else ():
            print(f"   {line}")
        for line in snippet(result.text, answer.query):
            print(f"   {line}")
