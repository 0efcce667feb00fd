"""`watersmeet eval`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.evaluate.data import Dataset
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.evaluation import Evaluation, evaluate, to_json
from watersmeet.evaluate.markdown import facts, markdown, ranks_line, rows, sureness, verdict
from watersmeet.evaluate.metrics import NAMES, measures
from watersmeet.evaluate.saved import gate, read, save
from watersmeet.evaluate.trec import write_run
from watersmeet.face.cli.common import common, for_people, loaded, print_json, table
from watersmeet.face.cli.progress import progress

REPORTS = (".md", ".html")


@click.command(
    "eval",
    epilog="Examples: watersmeet eval data/scifact --report report.html | wm eval checks.toml --gate main.json"
    " | wm eval --from-corpus",
)
@click.argument("dataset", required=False, default="")
@click.option("--from-corpus", is_flag=True, help="Ask with what stands in the index: titles, headings, links, ...")
@click.option("--queries", default=200, show_default=True, type=click.IntRange(1), help="How many, with --from-corpus.")
@click.option("--recipe", default="", metavar="NAME", help="Which recipe answers.")
@click.option("--mode", default="", metavar="MODE", help="As in `search`.")
@click.option("--against", default="", metavar="NAME", help="Compare with another recipe.")
@click.option("--against-run", default="", metavar="FILE", help="Compare with a run in TREC format.")
@click.option("--limit", default=0, type=click.IntRange(0), metavar="N", help="Only so many queries, drawn by --seed.")
@click.option("--seed", default=0, show_default=True, help="Of everything that is drawn at random.")
@click.option("--save", "save_to", default="", metavar="FILE", help="Save every query's figures.")
@click.option("--gate", "gate_file", default="", metavar="FILE", help="Exit 1 if significantly worse than this save.")
@click.option("--run-out", default="", metavar="FILE", help="Write the ranking as a TREC run.")
@click.option("--report", "reports", multiple=True, metavar="FILE", help="Write a report: FILE.md or FILE.html.")
@click.option("--fresh", is_flag=True, help="Index the dataset anew.")
@common
def eval_command(
    dataset: str,
    from_corpus: bool,
    queries: int,
    recipe: str,
    mode: str,
    against: str,
    against_run: str,
    limit: int,
    seed: int,
    save_to: str,
    gate_file: str,
    run_out: str,
    reports: tuple[str, ...],
    fresh: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure how good the answers are.

    DATASET is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, which is indexed in the cache folder; or
    a file of fixtures about an index that there is: [[query]] tables in TOML, or JSON lines, with `query` and
    `expect`, a list of documents, empty where nothing should be found.

    --gate fails by a paired test; where fewer than six queries changed, which no test can judge, by a large loss.
    """
    _check(dataset, from_corpus, reports, gate_file)
    settings = loaded(recipe=recipe)
    with progress(quiet or as_json) as tell:
        asked, place = _questions(dataset, from_corpus, queries, index, seed, tell)
        evaluation = evaluate(
            asked.limited(limit, seed),
            settings,
            mode=mode,
            index=place,
            against=loaded(recipe=against) if against else None,
            against_run=against_run,
            seed=seed,
            fresh=fresh,
            weigh=any(file.endswith(".html") for file in reports),
            progress=tell,
        )
    report = to_json(evaluation)
    passed = _keep(evaluation, report, save_to, gate_file, run_out, reports)
    if as_json:
        print_json(report)
    else:
        _print(report, quiet)
    if not passed:
        sys.exit(1)


def _check(dataset: str, from_corpus: bool, reports: tuple[str, ...], gate_file: str) -> None:
    """Whatever can be known to be wrong before anything is measured."""
    if bool(dataset) == from_corpus:
        raise ConfigError("name a dataset, or say --from-corpus", "`watersmeet eval --help` shows examples")
    for file in reports:
        if not file.endswith(REPORTS):
            raise ConfigError(f"no report can be written as {file}", f"it must end in {' or '.join(REPORTS)}")
    if gate_file:
        read(gate_file)
    measures()


def _questions(
    dataset: str, from_corpus: bool, queries: int, index: str, seed: int, progress: ProgressCallback
) -> tuple[Dataset, str]:
    """What to ask, and which index; none means the dataset's own."""
    if from_corpus:
        from watersmeet.evaluate.known_items import known_items

        place = find_index(index)
        with Engine(place, loaded()) as engine:
            return known_items(engine, queries, seed, progress), place
    data = load_dataset(dataset)
    return data, find_index(index) if index or data.corpus is None else ""


def _keep(
    evaluation: Evaluation,
    report: dict[str, Any],
    save_to: str,
    gate_file: str,
    run_out: str,
    reports: tuple[str, ...],
) -> bool:
    """Write what was asked for; whether the gate, if there is one, was passed."""
    passed = True
    if gate_file:
        held = gate(gate_file, evaluation.questions, evaluation.quality, evaluation.seed)
        report["gate"] = held.to_json()
        passed = held.passed
    if save_to and (passed or os.path.realpath(save_to) != os.path.realpath(gate_file)):
        known = {key: report[key] for key in ("dataset", "documents", "recipe", "mode", "seed", "metrics")}
        save(save_to, evaluation.questions, evaluation.quality, evaluation.per_query(), known)
    try:
        if run_out:
            write_run(run_out, evaluation.questions, evaluation.run)
        for file in reports:
            Path(file).write_text(_report(file, evaluation, report), "utf8")
    except OSError as error:
        raise SourceProblem(f"{error.filename} cannot be written: {error.strerror}") from error
    return passed


def _report(file: str, evaluation: Evaluation, report: dict[str, Any]) -> str:
    if file.endswith(".md"):
        return markdown(report)
    from watersmeet.evaluate.html import html

    return html(evaluation, report)


def _print(report: dict[str, Any], quiet: bool) -> None:
    for failure in report["failures"]:
        print(f"without {failure['by']} for {failure['queries']} queries: {failure['reason']}", file=sys.stderr)
    if not quiet:
        for warning in report["warnings"]:
            print(f"note: {warning}", file=sys.stderr)
        print(f"{report['dataset']}: {facts(report)}")
        if report.get("note"):
            print(f"\n{report['note']}\n")
    head = ["", "queries", *NAMES]
    if not for_people():
        print("\t".join(head))
    table(
        head,
        [
            [name, str(count), *(f"{metrics[m]:.3f}" if m in metrics else "-" for m in NAMES)]
            for _, name, count, metrics in rows(report)
        ],
    )
    if sureness(report) and not quiet:
        print(sureness(report))
    if "comparison" in report:
        _print_comparison(report["comparison"], quiet)
    if "gate" in report:
        _print_gate(report["gate"])


def _print_comparison(comparison: dict[str, Any], quiet: bool) -> None:
    print(verdict(comparison))
    if quiet:
        return
    for title, key in (("won most", "best"), ("lost most", "worst")):
        if comparison[key]:
            print(f"{title}:")
        for row in comparison[key]:
            print(f"  {row['delta']:+.3f}  {row['query']}")
            for document in row["relevant"]:
                print(f"          {ranks_line(document)}")


def _print_gate(held: dict[str, Any]) -> None:
    figures = f"{held['delta']:+.4f} ({held['low']:+.4f} to {held['high']:+.4f}, p = {held['p']:.4f})"
    print(f"gate {'passed' if held['passed'] else 'FAILED'} against {held['file']}: {figures}")
    if held["note"]:
        print(f"  {held['note']}")
    if not held["passed"]:
        for row in held["queries_lost"]:
            print(f"  {row['delta']:+.3f}  {row['query']}  ({row['before']:.3f} -> {row['now']:.3f})")
        if held["lost"] > len(held["queries_lost"]):
            print(f"  ... and {held['lost'] - len(held['queries_lost'])} more")
