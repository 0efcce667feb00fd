"""What every command shares: flags, output for machines and for people, opening the index."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from watersmeet.engine.engine import Engine
from watersmeet.engine.place import find_index

F = TypeVar("F", bound=Callable[..., Any])


def common(function: F) -> F:
    """`--index`, `--json` and `--quiet`."""
    for flag in (
        click.option("--quiet", "-q", is_flag=True, help="Print the result and nothing else."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--index", metavar="DIR", default="", help="The index; else the nearest .watersmeet upwards."),
    ):
        function = flag(function)
    return function


def opened(index: str) -> Engine:
    return Engine(find_index(index))


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def for_people() -> bool:
    """Colour and tables on a terminal; plain text when piped."""
    return sys.stdout.isatty()


def table(head: list[str], rows: list[list[str]]) -> None:
    """A table on a terminal, tab-separated lines when piped."""
    if not for_people():
        for row in rows:
            print("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn = Table(*head, box=box.SIMPLE_HEAD)
    for row in rows:
        drawn.add_row(*row)
    Console().print(drawn)
