"""HTML report of an evaluation: one page without scripts, fonts or pictures from elsewhere."""

from __future__ import annotations

from typing import Any

from watersmeet.engine.calibration.posterior import grid
from watersmeet.evaluate.evaluation import Evaluation
from watersmeet.evaluate.markdown import confidence_line, facts, ranks_line, rows, verdict
from watersmeet.evaluate.metrics import MAIN, SHOWN
from watersmeet.evaluate.plots import bars, differences, dots, escape, histogram, plane
from watersmeet.evaluate.run import WHOLE
from watersmeet.evaluate.sweep import Sweep

_STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfaf7; --ink: #22262b; --dim: #6b7178; --line: #dcd9d1; --main: #0b6e72; --soft: #8fb8b8;
  --mark: #b4572a; --won: #2f7d4f; --lost: #b3402f; --card: #ffffff }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e4e4e0; --dim: #969ca3; --line: #333a40;
  --main: #4fb8b6; --soft: #3b6d70; --mark: #e09263; --won: #5fb884; --lost: #e0796a; --card: #1b1f23 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; overflow-wrap: anywhere } h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem }
p.facts, .dim { color: var(--dim) } p.facts { margin: 0 0 1rem } p.note { border-left: 3px solid var(--mark);
  padding-left: .9rem } ul { padding-left: 1.2rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
  font-size: .9rem } th, td { padding: .35rem .5rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap } th { font-weight: 600; color: var(--dim) } th:first-child, td:first-child { text-align: left }
tr.main td { font-weight: 600 } tr.part td { border-top: 2px solid var(--line) }
td.query { white-space: normal; min-width: 14rem } th.ranks, td.ranks { text-align: left }
td.ranks { white-space: normal; font-size: .82rem; color: var(--dim); overflow-wrap: anywhere }
figure { margin: 1.25rem 0; padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  overflow-x: auto }
figcaption { font-weight: 600; margin-bottom: .5rem } svg { display: block; width: 100%; min-width: 30rem; height: auto;
  font: 13px system-ui, sans-serif } svg text { fill: var(--ink) } svg .name, svg .value { text-anchor: end }
svg .tick { text-anchor: middle; fill: var(--dim); font-size: 11px } svg .dim { fill: var(--dim); font-size: 11px }
svg .grid, svg .axis { stroke: var(--line) } svg .whisker { stroke: var(--soft); stroke-width: 3 }
svg .whisker.main { stroke: var(--main) } svg .dot { fill: var(--soft) } svg .dot.main { fill: var(--main) }
svg .bar { fill: var(--soft) } svg .mark { stroke: var(--mark); stroke-dasharray: 4 3 } svg .label { fill: var(--mark) }
svg .shade { fill: var(--main) } svg .place { fill: none; stroke: var(--mark); stroke-width: 2.5 }
svg .won { fill: var(--won) } svg .lost { fill: var(--lost) }
"""


def html(evaluation: Evaluation, report: dict[str, Any]) -> str:
    title = f"Evaluation: {report['dataset']}"
    parts = [f"<h1>{escape(title)}</h1>", f'<p class="facts">{escape(facts(report))}</p>']
    if report.get("note"):
        parts.append(f'<p class="note">{escape(report["note"])}</p>')
    if "comparison" in report:
        parts.append(f"<p>{escape(verdict(report['comparison']))}</p>")
    if confidence_line(report):
        parts.append(f"<p>{escape(confidence_line(report))}.</p>")
    parts += [_table(report), *_plots(evaluation, report)]
    if "comparison" in report:
        parts += [
            _queries("Largest gains", report["comparison"]["best"]),
            _queries("Largest losses", report["comparison"]["worst"]),
        ]
    remarks = [
        *report["warnings"],
        *(f"without {f['by']} for {f['queries']} queries: {f['reason']}" for f in report["failures"]),
    ]
    if remarks:
        parts.append("<h2>Remarks</h2><ul>" + "".join(f"<li>{escape(text)}</li>" for text in remarks) + "</ul>")
    return _page(title, parts)


def sweep_page(dataset: str, verdict: str, found: Sweep) -> str:
    """HTML page with the result of tuning."""
    title = f"Weights for {dataset}"
    return _page(title, [f"<h1>{escape(title)}</h1>", f"<p>{escape(verdict)}</p>", sweep_plot(found)])


def _page(title: str, parts: list[str]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>{''.join(part for part in parts if part)}</main></body></html>\n"
    )


def _table(report: dict[str, Any]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("", "queries", *SHOWN))
    lines, before = [], ""
    for part, name, queries, metrics in rows(report):
        kind = "main" if part == "whole" else "part" if part != before else ""
        before = part
        cells = "".join(f"<td>{metrics[m]:.3f}</td>" if m in metrics else "<td>–</td>" for m in SHOWN)
        lines.append(f'<tr class="{kind}"><td>{escape(name)}</td><td>{queries}</td>{cells}</tr>')
    return f'<h2>Metrics</h2><div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def _plots(evaluation: Evaluation, report: dict[str, Any]) -> list[str]:
    values = {WHOLE: report["metrics"], **report["signals"]}
    if "comparison" in report:
        values[f"against {report['comparison']['against']}"] = report["comparison"]["metrics"]
    shown = [(name, metrics[MAIN], *report["intervals"][name]) for name, metrics in values.items()]
    classes = [(name, f"{int(m['queries'])}", m[MAIN]) for name, m in report["classes"].items()]
    latency = report["latency_ms"]
    plots = [
        "<h2>Plots</h2>",
        dots("nDCG@10 by signal, with 95 % bootstrap intervals", shown),
        bars("nDCG@10 by class of query", classes),
        histogram(
            "Latency of a search", evaluation.run.latency, [("p50", latency["p50"]), ("p95", latency["p95"])], "ms"
        ),
    ]
    if evaluation.difference is not None:
        ours, theirs = evaluation.scores[WHOLE][MAIN], evaluation.against_scores[MAIN]
        won, lost = evaluation.difference.won, evaluation.difference.lost
        moved = [a - b for a, b in zip(ours, theirs, strict=True)]
        plots.append(differences(f"Difference in nDCG@10, query by query: {won} won, {lost} lost", moved))
    if "confidence" in report:
        points = report["confidence"]["risk_coverage"]
        shown_risks = [(f"top {p['coverage']:.0%}", f"confidence ≥ {p['confidence']:.2f}", p["risk"]) for p in points]
        plots.append(bars("Share of queries without an answer among the first three, by coverage", shown_risks))
    if evaluation.sweep is not None:
        plots.append(sweep_plot(evaluation.sweep))
    return plots


def sweep_plot(found: Sweep) -> str:
    """Plot of nDCG@10 over the grid of weights, with the prior weights and those learned from the judgements."""
    points = [(point[0], point[1], value) for point, value in zip(grid(), found.quality, strict=True)]
    total = sum(found.prior.values()) or 1.0
    named = (("prior", found.prior), ("posterior", found.posterior))
    marks = [(name, w.get("lexical", 0.0) / total, w.get("static", 0.0) / total) for name, w in named]
    return plane(f"nDCG@10 by weights, {found.questions} judged queries", points, marks)


def _queries(title: str, found: list[dict[str, Any]]) -> str:
    if not found:
        return ""
    lines = "".join(
        f'<tr><td class="query">{escape(row["query"])}</td><td>{row["delta"]:+.3f}</td>'
        f'<td class="ranks">{"<br/>".join(escape(ranks_line(document)) for document in row["relevant"])}</td></tr>'
        for row in found
    )
    head = '<tr><th>query</th><th>nDCG@10</th><th class="ranks">ranks of relevant documents</th></tr>'
    return f'<h2>{title}</h2><div class="scroll"><table>{head}{lines}</table></div>'
