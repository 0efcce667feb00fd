"""`watersmeet watch`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import click

from watersmeet.core.errors import ConfigError, Stopped
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index, index_to_make
from watersmeet.engine.sync.report import cancellable
from watersmeet.engine.sync.sources import is_address
from watersmeet.engine.sync.watching import COUNTED, WatchedBatch, Watcher
from watersmeet.face.cli.common import common, dumps, loaded, relative
from watersmeet.face.cli.progress import progress
from watersmeet.face.cli.streams import one_line


@click.command("watch", epilog="Examples: watersmeet watch docs | watersmeet watch")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@common
def watch_command(paths: tuple[str, ...], index: str, as_json: bool, quiet: bool) -> None:
    """Keep the index up to date while files change. Without PATH: all folders that are indexed already.

    The folders are synced first, and added if they are new. After that a save is found within two seconds by its words;
    vectors follow. A running serve or mcp does the same by itself. Ctrl-C ends it.
    """
    start = time.monotonic()
    output = _Output(as_json, quiet)
    if address := next(filter(is_address, paths), ""):
        raise ConfigError(
            f"{address} is an address, and only folders and files can be watched",
            f"`watersmeet sync {address}` reads it",
        )
    with _signals() as stop:
        place = index_to_make(index) if paths else find_index(index)
        with Engine(place, loaded()) as engine:
            watcher = Watcher(engine, say=output.say, synced=output.synced)
            try:
                if paths:
                    with progress(quiet or as_json) as callback:
                        engine.sync(paths, deepen=False, progress=cancellable(stop, callback))
                _check_folders(engine)
                output.say(f"watching {relative(place)}; Ctrl-C ends it")
                watcher.run(stop)
            except Stopped:
                pass
    output.end((time.monotonic() - start) * 1000)


def _check_folders(engine: Engine) -> None:
    from watersmeet.engine.sync.scan_record import is_watchable, roots_of

    if not any(is_watchable(root) for root in roots_of(engine.index)):
        raise ConfigError("this index covers no folder that can be watched", "name one: `watersmeet watch PATH`")


@contextmanager
def _signals() -> Iterator[Event]:
    """An event that Ctrl-C and SIGTERM set: a batch that runs is committed or left to the next sync."""
    stop = Event()
    handlers = {name: signal.signal(name, lambda *_: stop.set()) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for name, handler in handlers.items():
            signal.signal(name, handler)


class _Output:
    """A line for each batch that changed something, and a summary."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self._as_json, self._quiet = as_json, quiet
        self._batches = 0
        self._totals = dict.fromkeys(COUNTED, 0)

    def say(self, text: str) -> None:
        if not self._quiet:
            print(f"watersmeet: {one_line(text)}", file=sys.stderr, flush=True)

    def synced(self, batch: WatchedBatch) -> None:
        if not batch.changed:
            return
        self._batches += 1
        for name in COUNTED:
            self._totals[name] += getattr(batch.report, name)
        if self._as_json:
            print(dumps(batch.to_json()), flush=True)
        elif not self._quiet:
            print(_line(batch), flush=True)

    def end(self, took_ms: float) -> None:
        summary: dict[str, Any] = {"batches": self._batches, **self._totals, "took_ms": round(took_ms, 1)}
        if self._as_json:
            print(dumps(summary), flush=True)
        elif not self._quiet:
            print(f"{_counts(self._totals) or 'nothing changed'} in {self._batches} batches", flush=True)


def _line(batch: WatchedBatch) -> str:
    counts = _counts({name: getattr(batch.report, name) for name in COUNTED})
    places = ", ".join(relative(os.path.join(root, part)) for root, part in batch.parts.items())
    return f"{time.strftime('%H:%M:%S')}  {counts} in {one_line(places)} ({batch.took_ms / 1000:.1f} s)"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)
