"""Markdown report of an evaluation, and the sentences and table rows that all reports share."""

from __future__ import annotations

from typing import Any

from watersmeet.evaluate.compare import LEVEL
from watersmeet.evaluate.metrics import SHOWN
from watersmeet.evaluate.run import WHOLE

Row = tuple[str, str, int, dict[str, float]]
"""Part of the table, name, number of queries, metrics."""


def rows(report: dict[str, Any]) -> list[Row]:
    """All rows of the table: the fused ranking, the compared run, the signals, the classes."""
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
    memory = "" if peak is None else f"peak memory {peak:.0f} MB, "
    text = (
        f"{report['documents']} documents, {report['queries']} queries, recipe {report['recipe']}, "
        f"mode {report['mode']}; {latency['p50']:.1f} ms a query (p95 {latency['p95']:.1f} ms), "
        f"{memory}{report['took_ms'] / 1000:.1f} s in all"
    )
    if "expected_nothing" in report:
        nothing = report["expected_nothing"]
        text += f"; of {nothing['queries']} queries without an answer, {nothing['share']:.0%} were recognized"
    return text


def confidence_line(report: dict[str, Any]) -> str:
    """Confidence compared with correctness, in a sentence; empty if there is no confidence."""
    figures = report.get("confidence")
    if not figures:
        return ""
    half = next(point for point in figures["risk_coverage"] if point["coverage"] == 0.5)
    text = (
        f"Mean confidence {figures['mean']:.2f}, right in {figures['right']:.0%} (calibration error "
        f"{figures['calibration_error']:.2f}); of the half with higher confidence {half['risk']:.0%} have no answer "
        f"among the first three; {figures['false_alarms']:.0%} of those with an answer are flagged as no good match"
    )
    if "flagged_of_unanswerable" in figures:
        text += f", and {figures['flagged_of_unanswerable']:.0%} of those without one"
    return text


def verdict(comparison: dict[str, Any]) -> str:
    """The comparison in a sentence."""
    significant = comparison["p"] < LEVEL and comparison["low"] * comparison["high"] > 0
    if not significant:
        outcome = "No significant difference from"
    else:
        outcome = "Significantly better than" if comparison["delta"] > 0 else "Significantly worse than"
    return (
        f"{outcome} {comparison['against']}: {comparison['delta']:+.4f} nDCG@10 "
        f"(95 % interval {comparison['low']:+.4f} to {comparison['high']:+.4f}, p = {comparison['p']:.4f}); "
        f"{comparison['won']} queries won, {comparison['lost']} lost"
    )


def ranks_line(document: dict[str, Any]) -> str:
    """Ranks of a document in both runs: `doc.md: fused 1 against 7, lexical 1 against –`."""
    ours, theirs = document["ours"], document["theirs"]
    parts = []
    for name in (*ours, *(name for name in theirs if name not in ours)):
        our_rank, their_rank = (f"{side[name] or '–'}" if name in side else "?" for side in (ours, theirs))
        parts.append(f"{name} {our_rank} against {their_rank}" if name in theirs else f"{name} {our_rank}")
    return f"{document['document']}: {', '.join(parts)}"


def markdown(report: dict[str, Any]) -> str:
    lines = [f"# Evaluation: {report['dataset']}", "", facts(report) + ".", ""]
    if report.get("note"):
        lines += [f"> {report['note']}", ""]
    if "comparison" in report:
        lines += [f"{verdict(report['comparison'])}.", ""]
    lines += ["| | queries | " + " | ".join(SHOWN) + " |", "|---|" + "--:|" * (len(SHOWN) + 1)]
    for _, name, queries, metrics in rows(report):
        cells = " | ".join(f"{metrics[m]:.3f}" if m in metrics else "–" for m in SHOWN)
        lines.append(f"| {_cell(name)} | {queries} | {cells} |")
    if confidence_line(report):
        lines += ["", f"{confidence_line(report)}."]
    for title, key in (("Largest gains", "best"), ("Largest losses", "worst")):
        found = report.get("comparison", {}).get(key)
        if found:
            lines += ["", f"## {title}", ""]
            for row in found:
                lines.append(f"- {row['delta']:+.3f} {_cell(row['query'])}")
                lines += [f"  - {ranks_line(document)}" for document in row["relevant"]]
    if "gate" in report:
        gate = report["gate"]
        outcome = f"Gate {gate['file']}: {'passed' if gate['passed'] else 'FAILED'}."
        lines += ["", f"{outcome} {gate['note']}".strip()]
    remarks = [*report["warnings"], *(f"without {f['by']}: {f['reason']}" for f in report["failures"])]
    if remarks:
        lines += ["", "## Remarks", "", *(f"- {text}" for text in remarks)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
