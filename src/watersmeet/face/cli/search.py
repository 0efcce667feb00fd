"""`watersmeet search`."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from watersmeet.core.errors import ConfigError, IndexBusy, WatersmeetError
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
    openable,
    print_json,
    print_line,
    relative,
)
from watersmeet.face.cli.params import flags, from_flags
from watersmeet.face.cli.streams import one_line
from watersmeet.face.search import OutputFormat, SearchParams, SearchReply, filters_of, run_search
from watersmeet.present.answer import (
    breadcrumb,
    breakdown,
    explain_line,
    facet_lines,
    location,
    routed_line,
    spelling_line,
)
from watersmeet.present.groups import further, passages_for, shown
from watersmeet.present.snippet import snippet

if TYPE_CHECKING:
    from watersmeet.engine.query.multi_index import MultiIndex
    from watersmeet.engine.sync.folder_cache import Indexing

MAX_RESULTS = 1000
AFTER_SECONDS = 10.0
"""How long `--in` goes on indexing after its answer, if that is on a terminal; the next call continues from there."""
AFTER_SECONDS_PIPED = 2.0
"""... and if it is not: a program waits for the end of the process."""


@click.command(
    "search",
    epilog="Examples: watersmeet search 'rotate keys' --filter tag=security | wm search E0308 --json"
    " | wm search 'rotate keys' --open 2"
    """ | wm search '"signing keys" -staging path:guides/**'""",
)
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@inside(f"Search this folder; it is indexed first, or brought up to date. {CACHE_NOTE}")
@flags(SearchParams, without=("query",))
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Short for --filter kind=KIND.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Short for --filter tag=TAG; #TAG in the query does the same."
)
@click.option("--sync", "first_sync", is_flag=True, help="First read what has changed in the indexed folders.")
@openable("Open result N, the first one if no number is given, in an editor, Obsidian or a browser.", counted=True)
@formatted
@common_with_indexes
def search_command(
    query: tuple[str, ...],
    inside: str,
    filters: tuple[str, ...],
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    first_sync: bool,
    opens: int | None,
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
    most = params.top_n
    if not as_json and form != "markdown" and params.budget is None:
        params = replace(params, top_n=passages_for(most))
    with ExitStack() as stack:
        engine, indexing = _opened(stack, inside, indexes, first_sync, params, quiet or as_json)
        found = run_search(engine, params, output=output, indexing=indexing)
    _print_reply(found, most, as_json, quiet, form)
    if opens and found.found:
        _open_result(found, most, opens, as_json or form == "markdown")
    if inside:
        sys.stdout.flush()
        _go_on(inside, params, quiet or as_json)
    if not found.found:
        sys.exit(1)


def _print_reply(found: SearchReply, most: int | None, as_json: bool, quiet: bool, form: str) -> None:
    params = found.params
    explain = params.explain
    for note in () if as_json or quiet else found.notes:
        print(note, file=sys.stderr)
    if as_json:
        print_json(found.to_json(), brief=params.budget is not None)
    elif found.pack is not None:
        _print_failures(found.answer)
        if found.found:
            print(found.pack.text)
        if found.found and not quiet and found.fits(found.pack.saving()):
            print(found.pack.saving(), file=sys.stderr)
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
        _print_remarks(found.answer, explain, quiet)
        if form == "markdown":
            _print_markdown(found.answer, explain)
        else:
            _print_groups(found, most, quiet, form)
        for line in facet_lines(found.answer.facets) if found.answer.facets else ():
            print(one_line(line), file=sys.stderr)
        if found.missing:
            print(found.missing)


def _opened(
    stack: ExitStack, inside: str, indexes: tuple[str, ...], first_sync: bool, params: SearchParams, quiet: bool
) -> tuple[Engine | MultiIndex, Indexing | None]:
    """The index to search, or several; and how far the one of `--in` is, unless it is complete."""
    settings = loaded(start=inside or ".", recipe=params.recipe)
    indexing = None
    if inside:
        if indexes:
            raise ConfigError("--in and --index cannot be combined", "--in has its own index in the cache folder")
        indexing = sync_first(inside, settings, quiet)
        places = [index_in(inside)]
    else:
        named = [find_index(index) for index in indexes or ("",)]
        places = list({os.path.realpath(place): place for place in named}.values())
    engines = [stack.enter_context(Engine(place, settings)) for place in places]
    for engine in engines:
        if first_sync and not inside:
            _sync_folders(engine, quiet)
        if indexing is None:
            ensure_sparse(engine, params.mode, quiet)
    if len(engines) == 1:
        return engines[0], indexing
    from watersmeet.engine.query.multi_index import MultiIndex

    return MultiIndex(engines), indexing


def sync_first(inside: str, settings: Settings, quiet: bool) -> Indexing | None:
    """Bring the index of `--in` up to date, for a moment; returns how far it is, unless it is complete."""
    from watersmeet.engine.sync.folder_cache import Indexing, sync_for_search
    from watersmeet.face.cli.progress import progress

    with Engine(index_in(inside), settings) as engine, progress(quiet) as callback:
        try:
            return sync_for_search(engine, inside, settings.section("index").first_seconds, callback)
        except IndexBusy:  # another process syncs it: search what is committed so far
            return Indexing()


def _go_on(inside: str, params: SearchParams, quiet: bool) -> None:
    """Index the rest after the answer, for a moment. It can be stopped: the answer is printed."""
    from watersmeet.engine.sync.folder_cache import sync_after_search
    from watersmeet.face.cli.progress import progress

    seconds = AFTER_SECONDS if for_people() else AFTER_SECONDS_PIPED
    with (
        suppress(WatersmeetError, KeyboardInterrupt),
        Engine(index_in(inside), loaded(start=inside, recipe=params.recipe)) as engine,
        progress(quiet or not for_people()) as callback,
    ):
        sync_after_search(engine, inside, seconds, callback)


def _sync_folders(engine: Engine, quiet: bool) -> None:
    """Sync the folders of an index before a search: words and static vectors."""
    from watersmeet.engine.sync.folder_cache import sync_folders
    from watersmeet.face.cli.progress import progress

    with progress(quiet) as callback:
        try:
            report = sync_folders(engine, callback)
        except IndexBusy as busy:
            print(f"searching what is indexed so far: {busy}", file=sys.stderr)
            return
    for item in () if quiet else report.warnings:
        print(f"warning: {one_line(item.path)}: {one_line(item.reason)}", file=sys.stderr)


def _nothing(query: str) -> str:
    has_words = any(character.isalnum() for character in query)
    return "nothing found" if has_words else "nothing found: the query has no letters or digits"


def _open_result(found: SearchReply, most: int | None, number: int, listed: bool) -> None:
    """Open a result by its number in the output; `listed`: passages were printed, not documents."""
    from watersmeet.face.cli.open_with import Target, open_target

    printed = found.shown if listed or found.pack else [group.best for group in shown(found.answer, most)[0]]
    if number > len(printed):
        counted = "1 result" if len(printed) == 1 else f"{len(printed)} results"
        raise ConfigError(f"there is no result {number} to open: only {counted}", f"-n {number} asks for more")
    result = printed[number - 1]
    open_target(Target(result.path, result.place, result.kind, result.headings), loaded())


def _print_failures(answer: Answer) -> None:
    for failure in answer.failures:
        print(
            f"without {failure.by}: {failure.reason}" + (f" ({failure.hint})" if failure.hint else ""), file=sys.stderr
        )


def _print_remarks(answer: Answer, explain: bool, quiet: bool) -> None:
    _print_failures(answer)
    if explain and not quiet:
        steps = ", ".join(f"{name} {took:.1f} ms" for name, took in answer.timings.items())
        print(f"mode {answer.mode}, recipe {answer.recipe}: {steps}", file=sys.stderr)
        counts = ", ".join(f"{name} {count}" for name, count in answer.counts.items())
        print(f"candidates: {counts or 'none'}", file=sys.stderr)
    if not quiet:
        for name, reason in answer.silent.items():
            if explain or reason != ABSENT:
                print(f"{name} not used: {reason}", file=sys.stderr)
    if not answer.results and not quiet:
        print(_nothing(answer.query), file=sys.stderr)


def _print_markdown(answer: Answer, explain: bool) -> None:
    from watersmeet.present.markdown import markdown

    if answer.results:
        print(markdown(answer, explain))


def _print_groups(found: SearchReply, most: int | None, quiet: bool, form: str) -> None:
    """Documents with their best passages, and how to see more."""
    answer, explain = found.answer, found.params.explain
    groups, more = shown(answer, most)
    full = len(answer.results) == found.params.top_n  # so there may be others
    others = f"{more or ''}{'+' if more and full else ''} more with -n {_next(most)}".strip() if more or full else ""
    if not form and for_people():
        from watersmeet.face.cli.pretty import print_answer

        counted = f"{len(groups)} document{'s' if len(groups) > 1 else ''}"
        sure = f" ({answer.confidence_words})" if answer.confidence_words else ""
        parts = (counted + sure, others, answer.mode, f"{answer.took_ms:.1f} ms")
        print_answer(groups, answer, ", ".join(filter(None, parts)) if groups and not quiet else "", explain)
        return
    for number, group in enumerate(groups, 1):
        result = group.best
        print_line(explain_line(result) if explain else f"{number}. {breadcrumb(result)}")
        print_line(f"   {location(result, relative)}  score {result.score:.3f}")
        for line in breakdown(result) if explain else ():
            print(f"   {line}")
        for line in (*snippet(result.text, answer.query, kind=result.kind), *further(group)):
            print(f"   {line}")
    if others and most is None and not quiet:
        print(others, file=sys.stderr)


def _next(most: int | None) -> int:
    """The number of documents to ask for, to see more of them."""
    return min(MAX_RESULTS, max(20, 2 * (most or 0)))
