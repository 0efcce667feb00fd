"""What every command shares: flags, output for machines and for people, opening the index."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from watersmeet.core.bidi import BIDI_CONTROLS, escape
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.face.cli.streams import console, one_line

F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P", str, tuple[str, ...])

FORMATS = ("plain", "markdown", "json")
KEPT = (
    "Its index is kept in the user's cache, ~/.cache/watersmeet/indexes/NAME-HASH (or below $XDG_CACHE_HOME); "
    "delete that folder to drop it."
)
"""What becomes of the index of `--in`."""
_SAID: set[str] = set()
_CONFIG = "watersmeet.config"
_UNESCAPED = re.compile(rf"[\x7f-\x9f{BIDI_CONTROLS}]")
"""Control characters that JSON lets pass; escaped they are the same value, and a terminal is spared them."""


def not_empty(ctx: click.Context, param: click.Parameter, value: P) -> P:
    """A path that was given and is empty is a variable that is not set, and not the same as none."""
    given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
    if given and (not value or (isinstance(value, tuple) and "" in value)):
        raise click.BadParameter("an empty path was given; is a variable not set?", ctx, param)
    return value


def common(function: F) -> F:
    """`--index`, `--json` and `--quiet`."""
    return _shared(False)(function)


def common_with_indexes(function: F) -> F:
    """The same, where several indexes may be named."""
    return _shared(True)(function)


def _shared(several: bool) -> Callable[[F], F]:
    which = "The index; else the nearest .watersmeet upwards."
    added = (
        click.option(
            "--config",
            metavar="FILE",
            default="",
            type=click.Path(),
            expose_value=False,
            callback=_keep_config,
            help="Settings from this file in place of the watersmeet.toml of a folder.",
        ),
        click.option("--quiet", "-q", is_flag=True, help="Print the result and nothing else."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--index",
            "indexes" if several else "index",
            metavar="DIR|URL",
            default=() if several else "",
            multiple=several,
            type=click.Path(),
            callback=not_empty,
            help=which.replace(";", ", may be repeated;") if several else which,
        ),
    )

    def add(function: F) -> F:
        for flag in added:
            function = flag(function)
        return function

    return add


def _keep_config(ctx: click.Context, param: click.Parameter, value: str) -> str:
    ctx.meta[_CONFIG] = not_empty(ctx, param, value)
    return value


def inside(meaning: str) -> Callable[[F], F]:
    """`--in`: a folder whose index is kept for you."""
    return click.option(
        "--in", "inside", metavar="PATH", default="", type=click.Path(), callback=not_empty, help=meaning
    )


def counted(most: int, meaning: str) -> Callable[[F], F]:
    """`--top-n`, and what other programs call it."""
    names = ("--top-n", "-n", "--limit", "--max-results", "--top-k", "--topK")
    return click.option(*names, "top_n", type=click.IntRange(1, most), default=10, show_default=True, help=meaning)


def formatted(function: F) -> F:
    """`--format`: what a person reads, or what goes elsewhere."""
    meaning = "plain, markdown or json; --json is short for the last. Default: as fits where it is read."
    none = ""  # then it depends on where it is read
    kept = click.option(
        "--format", "form", type=click.Choice(FORMATS), callback=lambda ctx, param, form: form or none, help=meaning
    )
    return kept(function)


def loaded(**given: Any) -> Settings:
    """The settings; what does not count of a folder's file is said, once."""
    context = click.get_current_context(silent=True)
    settings = load(config=context.meta.get(_CONFIG, "") if context else "", **given)
    for one in settings.ignored:
        if one.file not in _SAID:
            _SAID.add(one.file)
            print(f"watersmeet: {one_line(one.what)}; {one_line(one.hint)}", file=sys.stderr, flush=True)
    return settings


def opened(index: str) -> Engine:
    return Engine(find_index(index), loaded())


def print_json(value: Any, brief: bool = False) -> None:
    """Laid out on a terminal, unless it has to be brief."""
    print(dumps(value, indent=2 if sys.stdout.isatty() and not brief else None))


def made_ready(engine: Engine, mode: str, quiet: bool, signals: Sequence[str] = ()) -> None:
    """Make the sparse vectors that a search asks for first; Ctrl-C keeps what is done."""
    from watersmeet.engine.sync.sparse_on_demand import lacks_sparse, make_sparse

    if lacks_sparse(engine, mode, signals):
        from watersmeet.face.cli.progress import progress

        with progress(quiet) as tell:
            make_sparse(engine, tell)


def dumps(value: Any, indent: int | None = None) -> str:
    plain = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "")
    text = json.dumps(value, ensure_ascii=plain, indent=indent)
    return _UNESCAPED.sub(lambda found: escape(found[0]), text)


def print_line(text: str) -> None:
    """A line that stays one, whatever is in a title or in the name of a file."""
    print(one_line(text))


def for_people() -> bool:
    """Colour and tables on a terminal; plain text when piped."""
    return sys.stdout.isatty()


def near(path: str) -> str:
    """A path as seen from here, where that is the shorter way to say it."""
    if not os.path.isabs(path):
        return path
    try:
        seen = os.path.relpath(path)
    except ValueError:  # on another drive
        return path
    return path if seen.startswith("..") else seen


def table(head: list[str], rows: list[list[str]], form: str = "") -> None:
    """A table on a terminal, tab-separated lines when piped. The first column is what one copies: it stays whole."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    if form == "markdown":
        from watersmeet.present.markdown import table as as_markdown

        print(as_markdown(head, rows))
        return
    if form == "plain" or not for_people():
        for row in rows:
            print("\t".join(row))
        return
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    screen = console()
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    columns = [[row[number] for row in rows] for number in range(len(head))]
    room = widths([max(map(cell_len, (name, *cells))) for name, cells in zip(head, columns, strict=True)], screen.width)
    for number, (name, cells) in enumerate(zip(head, columns, strict=True)):
        figures = cells and all(cell.replace(".", "").isdigit() for cell in cells if cell)
        drawn.add_column(
            name,
            no_wrap=number > 0,
            overflow="ellipsis" if number else "fold",
            width=room[number],
            justify="right" if figures else "left",
        )
    for row in rows:
        drawn.add_row(*(Text(cell, overflow="ellipsis" if n else "fold") for n, cell in enumerate(row)))
    screen.print(drawn)


def widths(wanted: list[int], width: int) -> list[int]:
    """What each column of a table gets: the longest gives way first, and the first one last."""
    given = [min(wanted[0], width * 3 // 5), *wanted[1:]]
    room = width - 2 * (len(given) - 1)
    while sum(given) > room and max(given[1:], default=0) > 1:
        longest = max(range(1, len(given)), key=given.__getitem__)
        given[longest] -= 1
    return given
