"""How far a long command has come: a bar on a terminal, a line for each commit in a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from watersmeet.engine.report import Progress, Tell


@contextmanager
def progress(quiet: bool) -> Iterator[Tell]:
    if quiet:
        yield lambda step: None
    elif sys.stderr.isatty():
        with _bar() as tell:
            yield tell
    else:
        yield _line


def _line(step: Progress) -> None:
    if step.total and step.done:
        print(f"{step.doing} {step.done} of {step.total} files", file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("looking", total=None, rate="")

        def tell(step: Progress) -> None:
            speed = bar.tasks[0].speed
            shown = f"{speed:.0f}/s" if speed else ""
            bar.update(task, description=step.doing, completed=step.done, total=step.total or None, rate=shown)

        yield tell
