"""`watersmeet eval`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from watersmeet.core.errors import ConfigError, SourceProblem, WatersmeetError
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.engine.index.state_names import LAST_EVALUATION
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.evaluate.data import Dataset
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.evaluation import Evaluation, evaluate, to_json
from watersmeet.evaluate.markdown import confidence_line, facts, markdown, ranks_line, rows, verdict
from watersmeet.evaluate.metrics import SHOWN, measures
from watersmeet.evaluate.query_csv import write_csv
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
@click.option("--from-corpus", is_flag=True, help="Make queries from the index itself: titles, headings, links, ...")
@click.option(
    "--queries", default=200, show_default=True, type=click.IntRange(1), help="Number of queries with --from-corpus."
)
@click.option("--recipe", default="", metavar="NAME", help="The recipe to measure.")
@click.option("--mode", default="", metavar="MODE", help="As in `search`.")
@click.option("--against", default="", metavar="NAME", help="Compare with another recipe.")
@click.option("--against-run", default="", metavar="FILE", help="Compare with a run in TREC format.")
@click.option("--limit", default=0, type=click.IntRange(0), metavar="N", help="Use only N queries, drawn with --seed.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@click.option("--save", "save_to", default="", metavar="FILE", help="Save the metrics of every query.")
@click.option("--gate", "gate_file", default="", metavar="FILE", help="Exit 1 if significantly worse than this save.")
@click.option("--run-out", default="", metavar="FILE", help="Write the ranking as a TREC run.")
@click.option("--report", "reports", multiple=True, metavar="FILE", help="Write a report: FILE.md or FILE.html.")
@click.option("--csv", "csv_file", default="", metavar="FILE", help="Write a row of metrics for every query, as CSV.")
@click.option("--fresh", is_flag=True, help="Index the dataset anew.")
@click.option(
    "--ask", "asking", is_flag=True, help="Measure the answers of `ask`, beside the first five results as they are."
)
@click.option(
    "--foreign",
    multiple=True,
    metavar="DATASET",
    help="With --ask: also ask the queries of this dataset, which the documents do not answer; may be repeated.",
)
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
    csv_file: str,
    fresh: bool,
    asking: bool,
    foreign: tuple[str, ...],
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure the quality of search results, or with --ask that of answers.

    DATASET is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, which is indexed in the cache folder; or
    a file of fixtures for an existing index: [[query]] tables in TOML, or JSON lines, with `query` and
    `expect`, a list of documents or sections (document#heading), empty where nothing should be found.

    --gate uses a paired test; if fewer than six queries changed, too few for a test, it fails on a large loss.
    """
    if asking:
        from watersmeet.face.cli.eval_ask import eval_ask

        return eval_ask(dataset, foreign, limit, seed, fresh, loaded(recipe=recipe), index, as_json, quiet)
    _check(dataset, from_corpus, reports, gate_file)
    with progress(quiet or as_json) as callback:
        data, place = _load_queries(dataset, from_corpus, queries, index, seed, callback)
        evaluation = evaluate(
            data.limited(limit, seed),
            loaded(recipe=recipe),
            mode=mode,
            index=place,
            against=loaded(recipe=against) if against else None,
            against_run=against_run,
            seed=seed,
            fresh=fresh,
            weigh=any(file.endswith(".html") for file in reports),
            progress=callback,
        )
    report = to_json(evaluation)
    _keep(place, evaluation, report, _command_line(dataset, from_corpus, queries, recipe, mode, limit, seed))
    passed = _save_outputs(evaluation, report, save_to, gate_file, run_out, reports, csv_file)
    if as_json:
        print_json(report)
    else:
        _print(report, quiet)
    if not passed:
        sys.exit(1)
    return None


def _check(dataset: str, from_corpus: bool, reports: tuple[str, ...], gate_file: str) -> None:
    """Check the options before anything is measured."""
    if bool(dataset) == from_corpus:
        raise ConfigError("name a dataset, or use --from-corpus", "`watersmeet eval --help` shows examples")
    for file in reports:
        if not file.endswith(REPORTS):
            raise ConfigError(f"cannot write a report to {file}", f"the file name must end in {' or '.join(REPORTS)}")
    if gate_file:
        read(gate_file)
    measures()


def _load_queries(
    dataset: str, from_corpus: bool, queries: int, index: str, seed: int, progress: ProgressCallback
) -> tuple[Dataset, str]:
    """The queries, and the index; an empty index means the dataset's own."""
    if from_corpus:
        from watersmeet.evaluate.known_items import known_items

        place = find_index(index)
        with Engine(place, loaded()) as engine:
            return known_items(engine, queries, seed, progress), place
    data = load_dataset(dataset)
    return data, find_index(index) if index or data.corpus is None else ""


def _command_line(dataset: str, from_corpus: bool, queries: int, recipe: str, mode: str, limit: int, seed: int) -> str:
    """The command that measures the same again."""
    import shlex

    words = ["watersmeet", "eval", *(["--from-corpus", "--queries", str(queries)] if from_corpus else [dataset])]
    for name, value in (("--recipe", recipe), ("--mode", mode), ("--limit", limit or ""), ("--seed", seed or "")):
        words += [name, str(value)] if value else []
    return shlex.join(words)


def _keep(place: str, evaluation: Evaluation, report: dict[str, Any], command: str) -> None:
    """Store the report with the index that it is of, for the page of `serve`; a remark in the report if that is not
    possible. A dataset with an index of its own (`place` is empty) says nothing of another one."""
    from watersmeet.evaluate.last_report import keep

    if not place:
        return
    try:
        with Engine(place, loaded()) as engine:
            keep(engine.index.state(LAST_EVALUATION), evaluation, report, command)
    except WatersmeetError as problem:
        report["warnings"].append(f"not stored for the page: {problem}")


def _save_outputs(
    evaluation: Evaluation,
    report: dict[str, Any],
    save_to: str,
    gate_file: str,
    run_out: str,
    reports: tuple[str, ...],
    csv_file: str,
) -> bool:
    """Write the requested files; returns whether the gate, if there is one, was passed."""
    passed = True
    if gate_file:
        gate_result = gate(gate_file, evaluation.questions, evaluation.quality, evaluation.seed)
        report["gate"] = gate_result.to_json()
        passed = gate_result.passed
    if save_to and (passed or os.path.realpath(save_to) != os.path.realpath(gate_file)):
        summary = {key: report[key] for key in ("dataset", "documents", "recipe", "mode", "seed", "metrics")}
        save(save_to, evaluation.questions, evaluation.quality, evaluation.per_query(), summary)
    try:
        if run_out:
            write_run(run_out, evaluation.questions, evaluation.run)
        if csv_file:
            write_csv(csv_file, evaluation)
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
    head = ["", "queries", *SHOWN]
    if not for_people():
        print("\t".join(head))
    table(
        head,
        [
            [name, str(count), *(f"{metrics[m]:.3f}" if m in metrics else "-" for m in SHOWN)]
            for _, name, count, metrics in rows(report)
        ],
    )
    if confidence_line(report) and not quiet:
        print(confidence_line(report))
    if "comparison" in report:
        _print_comparison(report["comparison"], quiet)
    if "gate" in report:
        _print_gate(report["gate"])


def _print_comparison(comparison: dict[str, Any], quiet: bool) -> None:
    print(verdict(comparison))
    if quiet:
        return
    for title, key in (("largest gains", "best"), ("largest losses", "worst")):
        if comparison[key]:
            print(f"{title}:")
        for row in comparison[key]:
            print(f"  {row['delta']:+.3f}  {row['query']}")
            for document in row["relevant"]:
                print(f"          {ranks_line(document)}")


def _print_gate(result: dict[str, Any]) -> None:
    figures = f"{result['delta']:+.4f} ({result['low']:+.4f} to {result['high']:+.4f}, p = {result['p']:.4f})"
    print(f"gate {'passed' if result['passed'] else 'FAILED'} against {result['file']}: {figures}")
    if result["note"]:
        print(f"  {result['note']}")
    if not result["passed"]:
        for row in result["queries_lost"]:
            print(f"  {row['delta']:+.3f}  {row['query']}  ({row['before']:.3f} -> {row['now']:.3f})")
        if result["lost"] > len(result["queries_lost"]):
            print(f"  ... and {result['lost'] - len(result['queries_lost'])} more")
