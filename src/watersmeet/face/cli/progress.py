"""Progress of long commands: a bar on a terminal, a line for each commit in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.face.cli.streams import console, one_line

LOG_INTERVAL_SECONDS = 5.0


@contextmanager
def progress(quiet: bool) -> Iterator[ProgressCallback]:
    if quiet:
        yield lambda step: None
    elif sys.stderr.isatty():
        with _bar() as callback:
            yield _with_cost(callback)
    else:
        yield _with_cost(_Log())


def _with_cost(callback: ProgressCallback) -> ProgressCallback:
    """A callback that prints the cost of what begins; above the bar, if there is one."""

    def with_cost(step: Progress) -> None:
        if step.cost is None:
            callback(step)
        else:
            print(one_line(str(step.cost)), file=sys.stderr, flush=True)

    return with_cost


class _Log:
    """Progress log: a line for each commit of files; for other steps, a line every few seconds."""

    def __init__(self) -> None:
        self._doing = ""
        self._start = self._last_line = 0.0
        self._last: Progress | None = None

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.doing != self._doing:
            self._doing, self._start, self._last_line = step.doing, now, now
        if not step.total or not step.done or step == self._last:
            return
        self._last = step
        text = f"{step.doing} {step.done} of {step.total} {step.unit}"
        if step.unit != "files":
            if now - self._last_line < LOG_INTERVAL_SECONDS and step.done < step.total:
                return
            rate = step.done / max(now - self._start, 1e-3)
            text += f", {rate:.0f}/s, {(step.total - step.done) / rate:.0f} s left"
        self._last_line = now
        print(text, file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[ProgressCallback]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("scanning", total=None, rate="")

        def callback(step: Progress) -> None:
            if step.done <= 1 and bar.tasks[0].description != step.doing:
                bar.reset(task)
            speed = bar.tasks[0].speed
            shown = f"{speed:.0f}/s" if speed else ""
            bar.update(task, description=step.doing, completed=step.done, total=step.total or None, rate=shown)

        yield callback
