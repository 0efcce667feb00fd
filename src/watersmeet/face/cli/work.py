"""`watersmeet work`."""

from __future__ import annotations

import signal
import time
from threading import Event

import click

from watersmeet.engine.sync.work import Done, Worker
from watersmeet.face.cli.common import common, dumps, opened, print_line


@click.command("work", epilog="Example: watersmeet work --index postgresql://db.example/watersmeet --once")
@click.option("--once", is_flag=True, help="End when no job is left, instead of waiting for more.")
@click.option("--no-offer", is_flag=True, help="Only take jobs that others offer.")
@common
def work_command(once: bool, no_offer: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Take jobs of an index on servers: read folders and slices of them, make vectors, tidy up.

    Any number of workers share the jobs, on any machines. If one is killed, another does its job once its lease has
    run out. Folders are read by workers on the machine that has them. Ctrl-C ends it after what is committed.
    """
    start, stop = time.perf_counter(), Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())

    def done(one: Done) -> None:
        if as_json:
            print(dumps(one.to_json()), flush=True)
        elif not quiet:
            print_line(f"{one.job.kind} {one.job.key}: {one.problem or 'done'} ({one.took_ms / 1000:.1f} s)")

    with opened(index) as engine:
        worker = Worker(engine, done)
        if not no_offer:
            worker.offer_all()
        count = worker.run(stop, until_empty=once)
    if as_json:
        print(dumps({"jobs": count, "took_ms": round((time.perf_counter() - start) * 1000, 1)}), flush=True)
