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

MAX_LISTED = 5


@click.command(
    "calibrate",
    epilog="Examples: watersmeet calibrate --judgements judged.jsonl | wm calibrate --show | wm calibrate --reset",
)
@click.option(
    "--judgements",
    default="",
    metavar="FILE",
    help="Judgements to learn from: queries with the documents that answer them.",
)
@click.option("--show", is_flag=True, help="Show what was learned so far; the default.")
@click.option("--reset", is_flag=True, help="Discard what was learned and return to the recipe's weights.")
@click.option(
    "--export",
    "export_to",
    default="",
    metavar="FILE",
    help="Write all evidence and weights to FILE; - for standard output.",
)
@common
def calibrate_command(
    judgements: str, show: bool, reset: bool, export_to: str, index: str, as_json: bool, quiet: bool
) -> None:
    """Learn the weights of this index from judgements.

    FILE has lines {"query": ..., "document": ..., "relevance": 1}, or query, document and relevance separated by tabs,
    whatever its ending; a dataset or fixtures as for `eval` work too. With `[calibration] learn = true` in
    your settings, documents opened after a search are evidence too. All of it stays in the index folder.
    """
    if reset and (judgements or export_to):
        raise ConfigError("--reset cannot be combined with other options", "run it first, then calibrate again")
    with opened(index) as engine:
        learnt: dict[str, Any] = {}
        if reset:
            engine.calibration.reset()
        if judgements:
            from watersmeet.evaluate.judgements import read_judgements

            with progress(quiet or as_json) as callback:
                report = engine.calibration.judge(read_judgements(judgements), callback)
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
        print(f"learned from {learnt['learnt']} judgements; {learnt['known']} were already known")
        for one in learnt["unusable"][:MAX_LISTED]:
            print(f"  not used: {one['query']!r}: {one['reason']}")
        if len(learnt["unusable"]) > MAX_LISTED:
            print(f"  ... and {len(learnt['unusable']) - MAX_LISTED} more")
    print(f"the recipe's weights: {_weights(state['prior'])}")
    if not state["collections"]:
        print("no evidence yet: these weights are used")
    for name, one in state["collections"].items():
        where = "the whole index" if name == "*" else f"collection {name}"
        print(f"{where}: {_weights(one['weights'])}, from {one['evidence']:g} pieces of evidence")
        if one["trust"] < 1 and not quiet:
            print(f"  only {one['trust']:.0%} of it counts: too few judged documents are near the top of the results")
    if not quiet:
        print(f"learning from documents opened after a search is {'on' if state['learning'] else 'off'}")


def _weights(weights: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in weights.items())


@click.command(
    "tune",
    epilog="Examples: watersmeet tune judged/ --out watersmeet.toml --report tune.html | "
    "wm tune questions.toml --encoder | wm tune --encoder --undo",
)
@click.argument("dataset", default="")
@click.option("--recipe", default="", metavar="NAME", help="The recipe to tune.")
@click.option("--out", default="", metavar="FILE", help="Write the settings to FILE; default: print them.")
@click.option("--report", "report_to", default="", metavar="FILE", help="Write a report with the sweep to FILE.html.")
@click.option("--seed", default=0, show_default=True, help="Random seed of the split into halves.")
@click.option("--encoder", is_flag=True, help="Tune the encoder of queries for this index, not the weights.")
@click.option("--undo", is_flag=True, help="With --encoder: return to the encoder of the settings.")
@click.option(
    "--minutes", default=2.0, show_default=True, help="With --encoder: CPU-minutes of training at most.", type=float
)
@common
def tune_command(
    dataset: str,
    recipe: str,
    out: str,
    report_to: str,
    seed: int,
    encoder: bool,
    undo: bool,
    minutes: float,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn weights from one half of a judged DATASET, and measure them on the other.

    DATASET as for `eval`. Exit code 1 if there is no significant gain; the settings are then not written. Weights
    learned by `calibrate` are ignored: the recipe's own weights are compared with the tuned ones.

    With --encoder, the encoder of queries is trained for this index instead, on one half of the questions, and stored
    if it is significantly better on the other half. Without DATASET, it learns from opened results, which
    `[calibration] keep_opened = true` stores. Texts are not embedded again. It needs the extra `train`.
    """
    if encoder or undo:
        if out or report_to or not encoder or (undo and dataset):
            raise ConfigError(
                "these options cannot be combined", "use: tune DATASET --encoder, or: tune --encoder --undo"
            )
        from watersmeet.face.cli.tune_encoder import run_tune_encoder, undo_encoder

        if undo:
            undo_encoder(index, as_json, quiet)
        else:
            run_tune_encoder(dataset, recipe, seed, minutes, index, as_json, quiet)
        return
    if not dataset:
        raise click.MissingParameter(param_hint="'DATASET'", param_type="argument")
    _tune_weights(dataset, recipe, out, report_to, seed, index, as_json, quiet)


def _tune_weights(
    dataset: str, recipe: str, out: str, report_to: str, seed: int, index: str, as_json: bool, quiet: bool
) -> None:
    from watersmeet.evaluate.data import load as load_dataset
    from watersmeet.evaluate.tune import tune

    if report_to and not report_to.endswith(".html"):
        raise ConfigError(f"cannot write a report to {report_to}", "the file name must end in .html")
    if out and Path(out).exists():
        raise ConfigError(f"{out} exists already", "name another file, and merge the two by hand")
    data = load_dataset(dataset)
    place = find_index(index) if index or data.corpus is None else ""
    with progress(quiet or as_json) as callback:
        tuned = tune(data, loaded(recipe=recipe), place, seed, callback)
    if report_to:
        from watersmeet.evaluate.html import sweep_page

        _write(report_to, sweep_page(tuned.dataset, tuned.verdict, tuned.sweep))
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
            print(f"{out} is not written: there is no significant gain", file=sys.stderr)
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
