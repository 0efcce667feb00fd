"""`watersmeet push`."""

from __future__ import annotations

import sys
import time

import click

from watersmeet.face.cli.common import common, opened, print_json, print_line


@click.command("push", epilog="Example: watersmeet push --to 'postgresql://search@db.example.org/search?index=docs'")
@click.option("--to", "target", required=True, metavar="URL", help="Address of the other index.")
@common
def push_command(target: str, index: str, as_json: bool, quiet: bool) -> None:
    """Move this index to PostgreSQL and Qdrant, where many servers can search it.

    It fills a new generation there, which nobody sees, and names it only if 100 sampled queries get the same answers
    from both; until then, what was there before answers. Interrupted, the same command goes on where it was. This index
    stays as it is.
    """
    from watersmeet.engine.sync.push import push

    def progress(step: str, done: int, whole: int) -> None:
        if not quiet and not as_json:
            print(f"{step}: {done} of {whole} chunks", file=sys.stderr, flush=True)

    start = time.perf_counter()
    with opened(index) as engine:
        report = push(engine, target, progress)
    if as_json:
        print_json({**report.to_json(), "took_ms": round((time.perf_counter() - start) * 1000, 1)})
    elif not quiet:
        same = report.same_answers
        print_line(
            f"{report.rows} chunks in {report.place}, generation {report.generation}; of {same.queries} queries"
            f" {same.first:.0%} have the same first result, {same.order:.0%} all in the same order"
        )
