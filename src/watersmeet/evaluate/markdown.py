"""An evaluation as Markdown, and the sentences and rows that every report shares."""

from __future__ import annotations

from typing import Any

from watersmeet.evaluate.compare import LEVEL
from watersmeet.evaluate.metrics import NAMES
from watersmeet.evaluate.run import WHOLE

Row = tuple[str, str, int, dict[str, float]]
"""Part of the table, name, number of queries, metrics."""


def rows(report: dict[str, Any]) -> list[Row]:
    """Every line of the table: the whole, what it is compared with, the signals, the classes."""
    judged = report["queries"] - report.get("expected_nothing", {}).get("queries", 0)
    found: list[Row] = [("whole", WHOLE, judged, report["metrics"])]
    if "comparison" in report:
        comparison = report["comparison"]
        found.append(("against", f"against {comparison['against']}", judged, comparison["metrics"]))
    found += [("signal", f"signal {name}", judged, metrics) for name, metrics in report["signals"].items()]
    found += [("class", f"class {name}", int(m["queries"]), m) for name, m in report["classes"].items()]
    return found


def facts(report: dict[str, Any]) -> str:
    latency, peak = report["latency_ms"], report["peak_memory_mb"]
    memory = "" if peak is None else f"{peak:.0f} MB at most, "
    text = (
        f"{report['documents']} documents, {report['queries']} queries, recipe {report['recipe']}, "
        f"mode {report['mode']}; {latency['p50']:.1f} ms a query (p95 {latency['p95']:.1f} ms), "
        f"{memory}{report['took_ms'] / 1000:.1f} s in all"
    )
    if "expected_nothing" in report:
        nothing = report["expected_nothing"]
        text += (
            f"; nothing fits, it said, for {nothing['share']:.0%} of the {nothing['queries']} queries that expect it"
        )
    return text


def sureness(report: dict[str, Any]) -> str:
    """How sure it was, beside how often it was right; empty if it was not asked."""
    sure = report.get("confidence")
    if not sure:
        return ""
    half = next(point for point in sure["risk_coverage"] if point["coverage"] == 0.5)
    text = (
        f"Confidence {sure['mean']:.2f} on the mean, right in {sure['right']:.0%} (calibration error "
        f"{sure['calibration_error']:.2f}); of the surer half {half['risk']:.0%} have no answer among the first three; "
        f"{sure['false_alarms']:.0%} of those with an answer are said to have no good match"
    )
    if "flagged_of_unanswerable" in sure:
        text += f", and {sure['flagged_of_unanswerable']:.0%} of those without one"
    return text


def verdict(comparison: dict[str, Any]) -> str:
    """What the comparison says, in a sentence."""
    sure = comparison["p"] < LEVEL and comparison["low"] * comparison["high"] > 0
    if not sure:
        said = "No significant difference from"
    else:
        said = "Significantly better than" if comparison["delta"] > 0 else "Significantly worse than"
    return (
        f"{said} {comparison['against']}: {comparison['delta']:+.4f} nDCG@10 "
        f"(95 % interval {comparison['low']:+.4f} to {comparison['high']:+.4f}, p = {comparison['p']:.4f}); "
        f"{comparison['won']} queries won, {comparison['lost']} lost"
    )


def ranks_line(document: dict[str, Any]) -> str:
    """`doc.md: fused 1 against 7, lexical 1 against –`: at which rank each had it, here and there."""
    ours, theirs = document["ours"], document["theirs"]
    parts = []
    for name in (*ours, *(name for name in theirs if name not in ours)):
        here, there = (f"{side[name] or '–'}" if name in side else "?" for side in (ours, theirs))
        parts.append(f"{name} {here} against {there}" if name in theirs else f"{name} {here}")
    return f"{document['document']}: {', '.join(parts)}"


def markdown(report: dict[str, Any]) -> str:
    lines = [f"# Evaluation: {report['dataset']}", "", facts(report) + ".", ""]
    if report.get("note"):
        lines += [f"> {report['note']}", ""]
    if "comparison" in report:
        lines += [f"{verdict(report['comparison'])}.", ""]
    lines += ["| | queries | " + " | ".join(NAMES) + " |", "|---|" + "--:|" * (len(NAMES) + 1)]
    for _, name, queries, metrics in rows(report):
        cells = " | ".join(f"{metrics[m]:.3f}" if m in metrics else "–" for m in NAMES)
        lines.append(f"| {_cell(name)} | {queries} | {cells} |")
    if sureness(report):
        lines += ["", f"{sureness(report)}."]
    for title, key in (("Won most", "best"), ("Lost most", "worst")):
        found = report.get("comparison", {}).get(key)
        if found:
            lines += ["", f"## {title}", ""]
            for row in found:
                lines.append(f"- {row['delta']:+.3f} {_cell(row['query'])}")
                lines += [f"  - {ranks_line(document)}" for document in row["relevant"]]
    if "gate" in report:
        held = report["gate"]
        said = f"Gate {held['file']}: {'passed' if held['passed'] else 'FAILED'}."
        lines += ["", f"{said} {held['note']}".strip()]
    remarks = [*report["warnings"], *(f"without {f['by']}: {f['reason']}" for f in report["failures"])]
    if remarks:
        lines += ["", "## Remarks", "", *(f"- {text}" for text in remarks)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
