"""What does words-only indexing and search cost, beside docmancer 0.5.2? Prints a table and keeps the figures as JSON.

    python benchmarks/foundation.py [FOLDER OF MARKDOWN] [--docmancer /path/to/docmancer]

CPU seconds (user and system, of the process and its children) are the measure: they depend least on what else the
machine is doing. docmancer is left out if there is no such program; `pip install docmancer==0.5.2` in a virtual
environment of its own makes one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings import load

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "shared" / "data" / "markdown" / "kubernetes_en" / "files"
WATERSMEET = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
COLD_RUNS = 20
WARM_QUERIES = 200
LIMITS = {
    "sync_cpu_s": 15.0,
    "sync_peak_mb": 600.0,
    "unchanged_cpu_s": 1.0,
    "warm_p50_ms": 3.0,
    "cold_to_python": 10.0,
}


@dataclass(frozen=True)
class Cost:
    cpu: float  # seconds
    peak: float  # MB
    wall: float
    out: str


class Runner:
    """Runs commands in a home of their own and measures them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("WATERSMEET__")}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody starts a program without its bytecode every time
        self.env |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}

    def __call__(self, *argv: str) -> Cost:
        start = time.perf_counter()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(argv, env=self.env, cwd=self.home, stdout=out, stderr=err)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            wall = time.perf_counter() - start
            out.seek(0)
            err.seek(0)
            text = out.read().decode(errors="replace")
            assert process.returncode in (0, 1), f"{argv}: {text}{err.read().decode(errors='replace')}"
        return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, wall, text)


def queries(folder: Path, count: int) -> list[str]:
    """Words, pairs, sentences and identifiers from all over the corpus."""
    chance = random.Random(1)  # noqa: S311 - to be repeatable
    text = "\n".join(path.read_text(errors="replace") for path in sorted(folder.rglob("*.md"))[::8])
    words = [word for word, n in Counter(re.findall(r"[a-z]{4,}", text)).items() if n > 2]
    identifiers = sorted(set(re.findall(r"\b[a-z]+(?:[A-Z][a-z]+)+\b|--[a-z][a-z-]{3,}|\b[a-z]+(?:_[a-z]+)+\b", text)))
    sentences = [s.strip() for s in re.findall(r"(?<=\. )[A-Z][^.\n<>{}`]{30,90}(?=\.)", text)]
    made: list[str] = []
    for n in range(count):
        kinds = (
            lambda: chance.choice(words),
            lambda: " ".join(chance.sample(words, 2)),
            lambda: chance.choice(sentences),
            lambda: chance.choice(identifiers),
            lambda: f"what does {chance.choice(identifiers)} do",
        )
        made.append(kinds[n % len(kinds)]())
    return made


def percentiles(values: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=20)
    return {"p50": round(statistics.median(values), 2), "p95": round(cuts[18], 2)}


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


def cold(run: Runner, command: Sequence[str], asked: Sequence[str]) -> dict[str, float]:
    """One process a query, in turn with the interpreter alone."""
    ours, bare = [], []
    run(*command, "--", asked[0])
    for query in asked:
        ours.append(run(*command, "--", query).cpu)
        bare.append(run(sys.executable, "-c", "pass").cpu)
    return {
        "cold_cpu_ms": round(1000 * statistics.median(ours), 1),
        "python_cpu_ms": round(1000 * statistics.median(bare), 1),
        "cold_to_python": round(statistics.median(ours) / statistics.median(bare), 2),
    }


def warm(index: Path, home: Path, asked: Sequence[str]) -> dict[str, Any]:
    """In one process, after one round that warms the caches."""
    settings = load(start=str(home), environ={})
    with Engine(index, settings) as engine:
        for query in asked:
            engine.search(Request(query, mode="lexical"))
        took, found, processor = [], 0, time.process_time()
        for query in asked:
            start = time.perf_counter()
            found += bool(engine.search(Request(query, mode="lexical")).results)
            took.append(1000 * (time.perf_counter() - start))
        processor = time.process_time() - processor
    figures = percentiles(took)
    return {
        "warm_p50_ms": figures["p50"],
        "warm_p95_ms": figures["p95"],
        "warm_cpu_ms": round(1000 * processor / len(asked), 2),
        "answered": found,
    }


def ours(folder: Path, corpus: Path, asked: Sequence[str]) -> dict[str, Any]:
    run = Runner(folder)
    index = folder / "index"
    sync = [*WATERSMEET, "sync", str(corpus), "--index", str(index), "--no-vectors", "--json"]
    figures: dict[str, Any] = indexing(run, sync, sync, corpus)
    last = json.loads(run(*sync).out)
    figures |= {"documents": last["documents"], "chunks": last["chunks"]}
    figures |= warm(index, folder, asked)
    figures |= cold(run, [*WATERSMEET, "search", "--mode", "lexical", "--index", str(index)], asked[:COLD_RUNS])
    figures["index_mb"] = round(sum(p.stat().st_size for p in index.rglob("*") if p.is_file()) / 1e6, 1)
    return figures


def docmancer(program: str, folder: Path, corpus: Path, asked: Sequence[str]) -> dict[str, Any]:
    run = Runner(folder)
    ingest = [program, "ingest", str(corpus), "--no-vectors"]
    figures: dict[str, Any] = indexing(run, ingest, [*ingest, "--skip-known"], corpus)
    figures |= cold(run, [program, "query", "--mode", "lexical"], asked[:COLD_RUNS])
    return figures


def machine() -> dict[str, Any]:
    model = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()) or [platform.processor()]
    load1, load5, _ = os.getloadavg()
    return {
        "processor": model[0],
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": [round(load1, 1), round(load5, 1)],
    }


def commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


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
    asked = queries(chosen.corpus, WARM_QUERIES)
    facts = machine()
    figures: dict[str, dict[str, Any]] = {}
    for name in ("watersmeet", *(["docmancer"] if chosen.docmancer else [])):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve()
            corpus = Path(shutil.copytree(chosen.corpus, folder / "corpus"))
            if name == "watersmeet":
                figures[name] = ours(folder, corpus, asked)
            else:
                figures[name] = docmancer(chosen.docmancer, folder, corpus, asked)
    facts["load_after"] = [round(load, 1) for load in os.getloadavg()[:2]]
    missed = [key for key, limit in LIMITS.items() if figures["watersmeet"][key] >= limit]
    files = sum(1 for _ in chosen.corpus.rglob("*.md"))
    result = {"commit": commit(), "machine": facts, "files": files, **figures, "limits": LIMITS, "missed": missed}
    target = HERE / "results" / f"foundation-{result['commit']}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(result, indent=1) + "\n", "utf8")
    print(table(figures["watersmeet"], figures.get("docmancer", {})))
    print(f"load {facts['load_before']} -> {facts['load_after']}; missed: {', '.join(missed) or 'nothing'}; {target}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
