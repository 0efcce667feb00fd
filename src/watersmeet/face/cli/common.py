"""Helpers that all commands share: common flags, output as JSON, lines and tables, opening the index."""

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
CACHE_NOTE = (
    "Its index is in the user's cache, ~/.cache/watersmeet/indexes/NAME-HASH (or below $XDG_CACHE_HOME); "
    "delete that folder to remove it."
)
"""Where the index of `--in` is, for the help."""
_SAID: set[str] = set()
"""Files and notices that were reported already."""
_CONFIG = "watersmeet.config"
_UNESCAPED = re.compile(rf"[\x7f-\x9f{BIDI_CONTROLS}]")
"""Control characters that JSON allows unescaped; escaping keeps the value and protects a terminal."""


def not_empty(ctx: click.Context, param: click.Parameter, value: P) -> P:
    """Refuse an empty path: it usually comes from an unset shell variable, and does not mean the default."""
    given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
    if given and (not value or (isinstance(value, tuple) and "" in value)):
        raise click.BadParameter("an empty path was given; is a shell variable not set?", ctx, param)
    return value


def common(function: F) -> F:
    """Decorator for the flags of every command: `--index`, `--json`, `--quiet` and `--config`."""
    return _shared(False)(function)


def common_with_indexes(function: F) -> F:
    """The same, where `--index` may be repeated."""
    return _shared(True)(function)


def _shared(several: bool) -> Callable[[F], F]:
    which = "The index; default: the nearest .watersmeet in this folder or above it."
    added = (
        click.option(
            "--config",
            metavar="FILE",
            default="",
            type=click.Path(),
            expose_value=False,
            callback=_keep_config,
            help="Read settings from this file instead of the folder's watersmeet.toml.",
        ),
        click.option("--quiet", "-q", is_flag=True, help="Print only the result."),
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
    """The flag `--in`: a folder whose index is kept in the user's cache."""
    return click.option(
        "--in", "inside", metavar="PATH", default="", type=click.Path(), callback=not_empty, help=meaning
    )


def counted(most: int | None, meaning: str, usual: int | None = 10) -> Callable[[F], F]:
    """The flag `--top-n`, with the names that other programs use for it."""
    names = ("--top-n", "-n", "--limit", "--max-results", "--top-k", "--topK")
    limits = click.IntRange(1, most)
    return click.option(*names, "top_n", type=limits, default=usual, show_default=usual is not None, help=meaning)


def openable(meaning: str, counted: bool = False) -> Callable[[F], F]:
    """The flag `--open`; `counted`: it may have a number, without one 1."""
    if counted:
        return click.option(
            "--open", "opens", type=click.IntRange(1), is_flag=False, flag_value=1, metavar="[N]", help=meaning
        )
    return click.option("--open", "opens", is_flag=True, help=meaning)


def formatted(function: F) -> F:
    """The flag `--format`; empty means coloured output on a terminal, plain text when piped."""
    meaning = "Output format; --json is short for --format json. Default: coloured on a terminal, plain when piped."
    flag = click.option(
        "--format", "form", type=click.Choice(FORMATS), callback=lambda ctx, param, form: form or "", help=meaning
    )
    return flag(function)


def loaded(**given: Any) -> Settings:
    """The settings. What is ignored of an untrusted folder's file, and which variables of predecessors are honoured,
    is reported once; the latter not with --quiet."""
    context = click.get_current_context(silent=True)
    settings = load(config=context.meta.get(_CONFIG, "") if context else "", **given)
    for one in settings.ignored:
        _say_once(one.file, f"{one_line(one.what)}; {one_line(one.hint)}")
    for notice in () if context and context.params.get("quiet") else settings.notices:
        _say_once(notice, one_line(notice))
    return settings


def _say_once(key: str, text: str) -> None:
    if key not in _SAID:
        _SAID.add(key)
        print(f"watersmeet: {text}", file=sys.stderr, flush=True)


def opened(index: str) -> Engine:
    return Engine(find_index(index), loaded())


def print_json(value: Any, brief: bool = False) -> None:
    """Print JSON, indented on a terminal unless it has to be brief."""
    print(dumps(value, indent=2 if sys.stdout.isatty() and not brief else None))


def ensure_sparse(engine: Engine, mode: str, quiet: bool, signals: Sequence[str] = ()) -> None:
    """Make missing sparse vectors if the search uses them; Ctrl-C keeps those that are done."""
    from watersmeet.engine.sync.sparse_on_demand import lacks_sparse, make_sparse

    if lacks_sparse(engine, mode, signals):
        from watersmeet.face.cli.progress import progress

        with progress(quiet) as callback:
            make_sparse(engine, callback)


def dumps(value: Any, indent: int | None = None) -> str:
    plain = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "")
    text = json.dumps(value, ensure_ascii=plain, indent=indent)
    return _UNESCAPED.sub(lambda found: escape(found[0]), text)


def print_line(text: str) -> None:
    """Print text as one line, even if a title or file name in it contains line breaks."""
    print(one_line(text))


def for_people() -> bool:
    """Whether the output is a terminal: colour and tables there, plain text when piped."""
    return sys.stdout.isatty()


def relative(path: str) -> str:
    """A path relative to the working folder if it is inside it, else unchanged."""
    if not os.path.isabs(path):
        return path
    try:
        shortened = os.path.relpath(path)
    except ValueError:  # on another drive
        return path
    return path if shortened.startswith("..") else shortened


def table(head: list[str], rows: list[list[str]], form: str = "") -> None:
    """Print a table on a terminal, tab-separated lines when piped. The first column is never cut: users copy it."""
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
    """Column widths of a table: the widest is cut first, and the first column last."""
    given = [min(wanted[0], width * 3 // 5), *wanted[1:]]
    room = width - 2 * (len(given) - 1)
    while sum(given) > room and max(given[1:], default=0) > 1:
        longest = max(range(1, len(given)), key=given.__getitem__)
        given[longest] -= 1
    return given
