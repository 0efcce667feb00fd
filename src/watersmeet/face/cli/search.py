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
    CACHE_NOTE,
    common_with_indexes,
    dumps,
    ensure_sparse,
    for_people,
    formatted,
    inside,
    loaded,
    print_json,
    print_line,
    relative,
)
from watersmeet.face.cli.params import flags, from_flags
from watersmeet.face.search import OutputFormat, SearchParams, filters_of, run_search
from watersmeet.present.answer import breadcrumb, breakdown, explain_line, location, routed_line, spelling_line
from watersmeet.present.snippet import snippet

if TYPE_CHECKING:
    from watersmeet.engine.query.multi_index import MultiIndex

DEEPEN_SECONDS = 10.0
"""How long `--in` makes deep vectors before it answers; the next call continues from there."""


@click.command(
    "search",
    epilog="Examples: watersmeet search 'rotate keys' --filter tag=security | wm search E0308 --json"
    """ | wm search '"signing keys" -staging path:guides/**'""",
)
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@inside(f"Search this folder; it is indexed first, or brought up to date. {CACHE_NOTE}")
@flags(SearchParams, without=("query",))
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Short for --filter kind=KIND.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Short for --filter tag=TAG; #TAG in the query does the same."
)
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
    """Find the passages that answer QUERY. It is plain text; "a phrase", -word, tag:, path: and kind: are
    operators."""
    as_json = as_json or form == "json"
    filters = (*filters, *(f"kind={kind}" for kind in kinds), *(f"tag={tag}" for tag in tags))
    params = from_flags(SearchParams, values, query=" ".join(query), filters=filters_of(filters) if filters else {})
    output = OutputFormat(dumps=dumps) if as_json else OutputFormat(text=True, dumps=None)
    with ExitStack() as stack:
        found = run_search(_opened(stack, inside, indexes, params, quiet or as_json), params, output=output)
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
        for respelling in () if quiet else found.answer.spelling:
            if respelling.instead or explain:
                print(spelling_line(respelling), file=sys.stderr)
        if explain and found.answer.expansion and not quiet:
            print(f"related terms, for vector search: {', '.join(found.answer.expansion)}", file=sys.stderr)
        for one in found.answer.routed if explain and not quiet else ():
            print(routed_line(one), file=sys.stderr)
        for operator in found.answer.operators if explain and not quiet else ():
            print(f"operator: {operator}", file=sys.stderr)
        _print(found.answer, explain, quiet, form)
        if found.missing:
            print(found.missing)
    if not found.found:
        sys.exit(1)


def _opened(
    stack: ExitStack, inside: str, indexes: tuple[str, ...], params: SearchParams, quiet: bool
) -> Engine | MultiIndex:
    """The index to search, or several."""
    settings = loaded(start=inside or ".", recipe=params.recipe)
    if inside:
        if indexes:
            raise ConfigError("--in and --index cannot be combined", "--in has its own index in the cache folder")
        places = [synced_index(inside, settings, quiet)]
    else:
        named = [find_index(index) for index in indexes or ("",)]
        places = list({os.path.realpath(place): place for place in named}.values())
    engines = [stack.enter_context(Engine(place, settings)) for place in places]
    for engine in engines:
        ensure_sparse(engine, params.mode, quiet)
    if len(engines) == 1:
        return engines[0]
    from watersmeet.engine.query.multi_index import MultiIndex

    return MultiIndex(engines)


def synced_index(inside: str, settings: Settings, quiet: bool) -> str:
    """The index of `--in`, brought up to date."""
    from watersmeet.engine.sync.folder_cache import sync_folder_cache
    from watersmeet.face.cli.progress import progress

    folder = index_in(inside)
    with Engine(folder, settings) as engine, progress(quiet) as callback:
        try:
            sync_folder_cache(engine, inside, callback)
            engine.deepen(callback, DEEPEN_SECONDS)
        except IndexBusy as busy:  # another process syncs it: search what is committed so far
            print(f"searching what is indexed so far: {busy}", file=sys.stderr)
    return folder


def _nothing(query: str) -> str:
    has_words = any(character.isalnum() for character in query)
    return "nothing found" if has_words else "nothing found: the query has no letters or digits"


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
                print(f"{name} not used: {reason}", file=sys.stderr)
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
        print_line(f"   {location(result, relative)}  score {result.score:.3f}")
        for line in breakdown(result) if explain else ():
            print(f"   {line}")
        for line in snippet(result.text, answer.query):
            print(f"   {line}")
