"""What does words-only indexing and search cost, beside docmancer 0.5.2? Prints a table and keeps the figures as JSON.

    python benchmarks/foundation.py [FOLDER OF MARKDOWN] [--docmancer /path/to/docmancer]

CPU seconds (user and system, of the process and its children) are the measure: they depend least on what else the
machine is doing. docmancer is left out if there is no such program; `pip install docmancer==0.5.2` in a virtual
environment of its own makes one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _common import SHARED, WATERSMEET, Runner, cold, keep, load, machine, percentiles, queries, size_mb

from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import load as load_settings

CORPUS = SHARED / "data" / "markdown" / "kubernetes_en" / "files"
COLD_RUNS = 20
WARM_QUERIES = 200
LIMITS = {
    "sync_cpu_s": 15.0,
    "sync_peak_mb": 600.0,
    "unchanged_cpu_s": 1.0,
    "warm_p50_ms": 3.0,
    "cold_to_python": 10.0,
}


def indexing(run: Runner, ingest: Sequence[str], again: Sequence[str], corpus: Path) -> dict[str, float]:
    """A fresh index, the same again, and once more after one file was edited. `ingest` ends in its options."""
    fresh, unchanged = run(*ingest), run(*again)
    page = sorted(corpus.rglob("*.md"))[100]
    page.write_text(page.read_text(errors="replace") + "\n\n## Afterwards\n\nAn edit about estuaries.\n", "utf8")
    edited = run(*again)
    return {
        "sync_cpu_s": round(fresh.cpu, 2),
        "sync_wall_s": round(fresh.wall, 2),
        "sync_peak_mb": round(fresh.peak),
        "unchanged_cpu_s": round(unchanged.cpu, 2),
        "edited_cpu_s": round(edited.cpu, 2),
    }


def warm(index: Path, home: Path, queries_asked: Sequence[str]) -> dict[str, Any]:
    """In one process, after one round that warms the caches."""
    settings = load_settings(start=str(home), environ={})
    with Engine(index, settings) as engine:
        for query in queries_asked:
            engine.search(Request(query, mode="lexical"))
        took, found, processor = [], 0, time.process_time()
        for query in queries_asked:
            start = time.perf_counter()
            found += bool(engine.search(Request(query, mode="lexical")).results)
            took.append(1000 * (time.perf_counter() - start))
        processor = time.process_time() - processor
    figures = percentiles(took)
    return {
        "warm_p50_ms": figures["p50"],
        "warm_p95_ms": figures["p95"],
        "warm_cpu_ms": round(1000 * processor / len(queries_asked), 2),
        "answered": found,
    }


def ours(folder: Path, corpus: Path, queries_asked: Sequence[str]) -> dict[str, Any]:
    run = Runner(folder)
    index = folder / "index"
    sync = [*WATERSMEET, "sync", str(corpus), "--index", str(index), "--no-vectors", "--json"]
    figures: dict[str, Any] = indexing(run, sync, sync, corpus)
    last = json.loads(run(*sync).out)
    figures |= {"documents": last["documents"], "chunks": last["chunks"]}
    figures |= warm(index, folder, queries_asked)
    figures |= cold(
        run, [*WATERSMEET, "search", "--mode", "lexical", "--index", str(index), "--"], queries_asked[:COLD_RUNS]
    )
    figures["index_mb"] = size_mb(index)
    return figures


def docmancer(program: str, folder: Path, corpus: Path, queries_asked: Sequence[str]) -> dict[str, Any]:
    run = Runner(folder)
    ingest = [program, "ingest", str(corpus), "--no-vectors"]
    figures: dict[str, Any] = indexing(run, ingest, [*ingest, "--skip-known"], corpus)
    figures |= cold(run, [program, "query", "--mode", "lexical", "--"], queries_asked[:COLD_RUNS])
    return figures


def table(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    rows = [("", "watersmeet", "docmancer", "limit")]
    rows += [(key, str(ours[key]), str(theirs.get(key, "")), str(LIMITS.get(key, ""))) for key in ours]
    widths = [max(len(row[n]) for row in rows) for n in range(4)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("--docmancer", default=shutil.which("docmancer") or "")
    chosen = parser.parse_args()
    queries_asked = queries(chosen.corpus, WARM_QUERIES)
    facts = machine()
    figures: dict[str, dict[str, Any]] = {}
    for name in ("watersmeet", *(["docmancer"] if chosen.docmancer else [])):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve()
            corpus = Path(shutil.copytree(chosen.corpus, folder / "corpus"))
            if name == "watersmeet":
                figures[name] = ours(folder, corpus, queries_asked)
            else:
                figures[name] = docmancer(chosen.docmancer, folder, corpus, queries_asked)
    facts["load_after"] = load()
    missed = [key for key, limit in LIMITS.items() if figures["watersmeet"][key] >= limit]
    files = sum(1 for _ in chosen.corpus.rglob("*.md"))
    result = {"machine": facts, "files": files, **figures, "limits": LIMITS, "missed": missed}
    keep("foundation", result)
    print(table(figures["watersmeet"], figures.get("docmancer", {})))
    print(f"load {facts['load_before']} -> {facts['load_after']}; missed: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
