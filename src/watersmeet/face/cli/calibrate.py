"""`watersmeet calibrate` and `tune`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.engine.index.location import find_index
from watersmeet.face.cli.common import common, loaded, opened, print_json
from watersmeet.face.cli.progress import progress

SHOWN = 5


@click.command(
    "calibrate",
    epilog="Examples: watersmeet calibrate --judgements judged.jsonl | wm calibrate --show | wm calibrate --reset",
)
@click.option("--judgements", default="", metavar="FILE", help="Queries with the documents that answer them.")
@click.option("--show", is_flag=True, help="Say what was learnt so far; the same as no option at all.")
@click.option("--reset", is_flag=True, help="Forget what was learnt: the weights are the recipe's again.")
@click.option("--export", "export_to", default="", metavar="FILE", help="Write all that is kept; - for the output.")
@common
def calibrate_command(
    judgements: str, show: bool, reset: bool, export_to: str, index: str, as_json: bool, quiet: bool
) -> None:
    """Move the weights of this index by evidence.

    FILE has lines {"query": ..., "document": ..., "relevance": 1}, or query, document and relevance between tabs,
    whatever its ending; a dataset or fixtures as for `eval` do as well. With `[calibration] learn = true` in
    your settings, what is opened after a search is evidence too. All of it stays in the index folder.
    """
    if reset and (judgements or export_to):
        raise ConfigError("--reset goes alone", "run it first, then calibrate again")
    with opened(index) as engine:
        learnt: dict[str, Any] = {}
        if reset:
            engine.calibration.reset()
        if judgements:
            from watersmeet.evaluate.judgements import read_judgements

            with progress(quiet or as_json) as tell:
                report = engine.calibration.judge(read_judgements(judgements), tell)
            unusable = [{"query": query, "reason": reason} for query, reason in report.unusable]
            learnt = {"learnt": report.learnt, "known": report.known, "unusable": unusable}
        if export_to:
            _write(export_to, json.dumps(engine.calibration.export(), indent=1) + "\n")
        state = engine.calibration.show()
    if export_to == "-":
        return
    if as_json:
        print_json({**learnt, **state})
    else:
        _print(learnt, state, quiet)


def _print(learnt: dict[str, Any], state: dict[str, Any], quiet: bool) -> None:
    if learnt and not quiet:
        print(f"learnt from {learnt['learnt']} judgements; {learnt['known']} were known already")
        for one in learnt["unusable"][:SHOWN]:
            print(f"  not used: {one['query']!r}: {one['reason']}")
        if len(learnt["unusable"]) > SHOWN:
            print(f"  ... and {len(learnt['unusable']) - SHOWN} more")
    print(f"the recipe's weights: {_weights(state['prior'])}")
    if not state["collections"]:
        print("no evidence yet: these are the weights")
    for name, one in state["collections"].items():
        where = "the whole index" if name == "*" else f"collection {name}"
        print(f"{where}: {_weights(one['weights'])}, by {one['evidence']:g} pieces of evidence")
        if one["trust"] < 1 and not quiet:
            print(f"  of which only {one['trust']:.0%} is heeded: too little of it is anywhere near the top")
    if not quiet:
        print(f"what is opened after a search is {'' if state['learning'] else 'not '}learnt from")


def _weights(weights: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in weights.items())


@click.command("tune", epilog="Example: watersmeet tune judged/ --out watersmeet.toml --report tune.html")
@click.argument("dataset")
@click.option("--recipe", default="", metavar="NAME", help="Which recipe's weights are tuned.")
@click.option("--out", default="", metavar="FILE", help="Write a settings file; else it is printed.")
@click.option("--report", "report_to", default="", metavar="FILE", help="Write a page with the sweep: FILE.html.")
@click.option("--seed", default=0, show_default=True, help="Which half is learnt from.")
@common
def tune_command(
    dataset: str, recipe: str, out: str, report_to: str, seed: int, index: str, as_json: bool, quiet: bool
) -> None:
    """Learn weights from one half of a judged DATASET, and measure them on the other.

    DATASET as for `eval`. Exit code 1 if there is no significant gain; the settings are then not written. What the
    index has learnt by `calibrate` is left aside: the recipe's own weights are measured, and those that are printed.
    """
    from watersmeet.evaluate.data import load as load_dataset
    from watersmeet.evaluate.tune import tune

    if report_to and not report_to.endswith(".html"):
        raise ConfigError(f"no report can be written as {report_to}", "it must end in .html")
    if out and Path(out).exists():
        raise ConfigError(f"{out} is there already", "name another file, and merge the two by hand")
    data = load_dataset(dataset)
    place = find_index(index) if index or data.corpus is None else ""
    with progress(quiet or as_json) as tell:
        tuned = tune(data, loaded(recipe=recipe), place, seed, tell)
    if report_to:
        from watersmeet.evaluate.html import swept_page

        _write(report_to, swept_page(tuned.dataset, tuned.verdict, tuned.sweep))
    written = bool(out) and tuned.significant
    if written:
        _write(out, tuned.settings())
    if as_json:
        print_json({**tuned.to_json(), "written": out if written else ""})
    else:
        print(f"{tuned.dataset}: {tuned.verdict}")
        print(f"before: {_weights(tuned.sweep.prior)}; after: {_weights(tuned.sweep.posterior)}")
        if tuned.aside and not quiet:
            print(tuned.aside)
        if out and not written:
            print(f"{out} is not written: there is nothing to gain by it", file=sys.stderr)
        elif not out and not quiet:
            print(f"\n{tuned.settings()}", end="")
    if not tuned.significant:
        sys.exit(1)


def _write(place: str, text: str) -> None:
    if place == "-":
        print(text, end="")
        return
    try:
        Path(place).write_text(text, "utf8")
    except OSError as error:
        raise SourceProblem(f"{place} cannot be written: {error.strerror}", "check the path") from error
