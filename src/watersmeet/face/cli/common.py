"""What every command shares: flags, output for machines and for people, opening the index."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.place import find_index

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("plain", "markdown", "json")


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
            help="The index; else the nearest .watersmeet upwards.",
        ),
    ):
        function = flag(function)
    return function


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
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


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
    if form == "markdown":
        from watersmeet.present.markdown import table as as_markdown

        print(as_markdown(head, rows))
        return
    if form == "plain" or not for_people():
        for row in rows:
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, name in enumerate(head):
        cells = [row[number] for row in rows]
        whole = min(max(map(len, cells), default=0), console.width * 3 // 5) if number == 0 else None
        figures = cells and all(cell.replace(".", "").isdigit() for cell in cells if cell)
        drawn.add_column(
            name,
            no_wrap=number > 0,
            overflow="ellipsis" if number else "fold",
            min_width=whole,
            justify="right" if figures else "left",
        )
    for row in rows:
        drawn.add_row(*(Text(cell, overflow="ellipsis" if n else "fold") for n, cell in enumerate(row)))
    console.print(drawn)
