"""What every command shares: flags, output for machines and for people, opening the index."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.place import find_index
from watersmeet.face.cli.streams import console, one_line

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("plain", "markdown", "json")
KEPT = (
    "Its index is kept in the user's cache, ~/.cache/watersmeet/indexes/NAME-HASH (or below $XDG_CACHE_HOME); "
    "delete that folder to drop it."
)
"""What becomes of the index of `--in`."""
_UNESCAPED = re.compile(r"[\x7f-\x9f]")
"""Control characters that JSON lets pass."""


def not_empty(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """A path that was given and is empty is a variable that is not set, and not the same as none."""
    given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
    if given and not value:
        raise click.BadParameter("an empty path was given; is a variable not set?", ctx, param)
    return value


def common(function: F) -> F:
    """`--index`, `--json` and `--quiet`."""
    for flag in (
        click.option("--quiet", "-q", is_flag=True, help="Print the result and nothing else."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--index",
            metavar="DIR",
            default="",
            type=click.Path(),
            callback=not_empty,
            help="The index; else the nearest .watersmeet upwards.",
        ),
    ):
        function = flag(function)
    return function


def inside(meaning: str) -> Callable[[F], F]:
    """`--in`: a folder whose index is kept for you."""
    return click.option(
        "--in", "inside", metavar="PATH", default="", type=click.Path(), callback=not_empty, help=meaning
    )


def counted(most: int, meaning: str, usual: int | None = 10) -> Callable[[F], F]:
    """`--top-n`, and what other programs call it."""
    names = ("--top-n", "-n", "--limit", "--max-results", "--top-k", "--topK")
    kind = click.IntRange(1, most)
    return click.option(*names, "top_n", type=kind, default=usual, show_default=usual is not None, help=meaning)


def formatted(function: F) -> F:
    """`--format`: what a person reads, or what goes elsewhere."""
    meaning = "plain, markdown or json; --json is short for the last. Default: as fits where it is read."
    none = ""  # then it depends on where it is read
    kept = click.option(
        "--format", "form", type=click.Choice(FORMATS), callback=lambda ctx, param, form: form or none, help=meaning
    )
    return kept(function)


def opened(index: str) -> Engine:
    return Engine(find_index(index))


def print_json(value: Any) -> None:
    plain = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "")
    text = json.dumps(value, ensure_ascii=plain, indent=2 if sys.stdout.isatty() else None)
    print(_UNESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


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
    seen = os.path.relpath(path)
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
