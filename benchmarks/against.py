"""This code against that of another commit, in alternating runs: a quick sync, a cold search, warm searches.

    git worktree add --detach /tmp/before COMMIT
    python benchmarks/against.py /tmp/before [--rounds 5] [--out DIR]

The folder is ../shared/data/markdown/kubernetes_en; words and static vectors only (`--no-deepen`), as in the first
seconds of a new index. Medians; a ratio below 1 is less.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import ROOT, SHARED, WATERSMEET, Runner, cold, keep, load, machine, queries

CORPUS = SHARED / "data" / "markdown" / "kubernetes_en" / "files"
TRIES = 3
"""Of what takes little the best of so many counts: others on the machine only ever make it slower."""
WARM = """
import json, statistics, sys, time
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
asked = json.loads(sys.argv[2])
with Engine(sys.argv[1], load(start=sys.argv[1], environ={})) as engine:
    for query in asked[:20]:
        engine.search(query)
    took = []
    for query in asked:
        start = time.perf_counter()
        engine.search(query)
        took.append((time.perf_counter() - start) * 1000)
print(statistics.median(took))
"""


def measured(code: Path, queries_asked: list[str]) -> dict[str, float]:
    """What the code in this worktree takes."""
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(Path(folder), {"PYTHONPATH": str(code / "src")})
        sync = [*WATERSMEET, "sync", str(CORPUS), "--index", "index", "--no-deepen", "-q"]
        first = run(*sync, good=(0,))
        again = min(run(*sync, good=(0,)).cpu for _ in range(TRIES))
        search = cold(run, [*WATERSMEET, "search", "--index", "index", "-q", "--"], queries_asked[:5])
        command = [sys.executable, "-c", WARM, f"{folder}/index", json.dumps(queries_asked)]
        warm = min(float(run(*command, good=(0,)).out) for _ in range(TRIES))
    return {
        "sync, CPU s": first.cpu,
        "sync, s": first.wall,
        "sync, MB": first.peak,
        "sync again, CPU s": again,
        "cold search, CPU ms": search["cold_cpu_ms"],
        "warm search, p50 ms": warm,
    }


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("before", type=Path, help="a worktree of the other commit")
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--out", type=Path)
    options = made.parse_args()
    codes = {"before": options.before.resolve(), "after": ROOT}
    words = ["git", "rev-parse", "--short", "HEAD"]
    against = subprocess.run(words, cwd=codes["before"], capture_output=True, text=True, check=True).stdout.strip()
    queries_asked, runs = queries(CORPUS, 200), {name: list[dict[str, float]]() for name in codes}
    facts = machine()
    for number in range(options.rounds):
        for name in codes if number % 2 == 0 else reversed(codes):
            runs[name].append(measured(codes[name], queries_asked))
            print(number, name, {key: round(value, 2) for key, value in runs[name][-1].items()}, flush=True)
    medians = {name: {key: statistics.median(one[key] for one in of) for key in of[0]} for name, of in runs.items()}
    ratios = {key: round(medians["after"][key] / medians["before"][key], 3) for key in medians["after"]}
    figures: dict[str, Any] = {"against": against, "machine": facts, "load_after": load(), "rounds": options.rounds}
    figures |= {"medians": medians, "ratios": ratios, "runs": runs}
    keep("against", figures, *([options.out] if options.out else []))
    for key, ratio in ratios.items():
        print(f"{key}: {medians['before'][key]:.2f} -> {medians['after'][key]:.2f}, x {ratio:.2f}")


if __name__ == "__main__":
    main()
