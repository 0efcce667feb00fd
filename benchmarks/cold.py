"""Searches from a shell, each in a process of its own: this code against that of another commit, in turns.

    git worktree add --detach /tmp/before COMMIT
    python benchmarks/cold.py --before /tmp/before [--runs 15] [--dense SECONDS]

Least and median CPU time, at 25 files of Kubernetes' documentation with all vectors and at the whole of it, with
words, static vectors and as many dense ones as are made in some seconds: to see that a start does not grow with it.
Load only ever adds, so the least is what to compare. `imports` is what no search can do without: Python with numpy,
onnxruntime, tokenizers, sqlite3 and click.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, WATERSMEET, Runner, keep, load, machine

CORPUS = SHARED / "data" / "markdown" / "kubernetes_en" / "files"
FEW = 25
QUESTION = "how do I expose a pod to the outside world"
MODES = ("lexical", "hybrid")
IMPORTS = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import click, numpy, onnxruntime, sqlite3, tokenizers"


def paths(code: Path) -> dict[str, str]:
    """The environment with which the code of a checkout runs."""
    return {"PYTHONPATH": os.pathsep.join(str(code / part) for part in ("src", "models/granite-30m/src"))}


def make_indexes(codes: dict[str, Path], folder: Path, dense_seconds: float) -> list[dict[str, Path]]:
    """A small and a large index, each made by each code: an earlier one cannot read what a later one writes. They share
    a cache of vectors."""
    few = folder / "files"
    few.mkdir()
    for number, path in enumerate(sorted(CORPUS.rglob("*.md"))[::96][:FEW]):
        shutil.copy(path, few / f"{number}.md")
    small, large = ({name: folder / f"{size}-{name}" for name in codes} for size in ("small", "large"))
    for name, code in codes.items():
        run = Runner(folder, paths(code))
        run(*WATERSMEET, "sync", str(few), "--index", str(small[name]), "-q", good=(0,))
        run(*WATERSMEET, "sync", str(CORPUS), "--index", str(large[name]), "-q", "--no-deepen", good=(0,))
        deepening = subprocess.Popen(
            [*WATERSMEET, "deepen", "--index", str(large[name]), "-q"], env=run.env, cwd=folder
        )
        time.sleep(dense_seconds)
        deepening.terminate()  # what is committed is kept
        deepening.wait()
    return [small, large]


def least_and_median(costs: list[float]) -> dict[str, float]:
    return {"least": round(1000 * min(costs), 1), "median": round(1000 * statistics.median(costs), 1)}


def measure(index: dict[str, Path], codes: dict[str, Path], runs: int, home: Path) -> dict[str, Any]:
    runners = {name: Runner(home, paths(code)) for name, code in codes.items()}
    status = {
        name: json.loads(runners[name](*WATERSMEET, "status", "--index", str(index[name]), "--json", good=(0,)).out)
        for name in codes
    }
    commands = {
        (name, mode): [*WATERSMEET, "search", QUESTION, "--index", str(index[name]), "--mode", mode, "--json"]
        for name in codes
        for mode in MODES
    }
    answers = {key: _answer(runners[key[0]](*command).out) for key, command in commands.items()}
    bare = {"python": [sys.executable, "-c", "pass"], "imports": [sys.executable, "-c", IMPORTS]}
    costs: dict[str, list[float]] = {}
    for number in range(runs):
        for key, command in commands.items() if number % 2 == 0 else reversed(commands.items()):
            costs.setdefault(" ".join(key), []).append(runners[key[0]](*command).cpu)
        for name, command in bare.items():
            costs.setdefault(name, []).append(runners["after"](*command).cpu)
    return {
        "chunks": status["after"]["chunks"],
        "coverage": {name: one["signals"]["dense"]["coverage"] for name, one in status.items()},
        "same_answers": all(answers["after", mode] == answers[next(iter(codes)), mode] for mode in MODES),
        "cpu_ms": {name: least_and_median(found) for name, found in costs.items()},
    }


def _answer(shown: str) -> Any:
    """An answer without the times in it."""
    return {name: value for name, value in json.loads(shown).items() if name in ("results", "confidence", "mode")}


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--before", type=Path, help="a worktree of the other commit")
    made.add_argument("--runs", type=int, default=15)
    made.add_argument("--dense", type=float, default=60, help="seconds in which dense vectors of the whole are made")
    made.add_argument("--out", type=Path, default=RESULTS)
    options = made.parse_args()
    codes = ({"before": options.before.resolve()} if options.before else {}) | {"after": ROOT}
    against, facts = "", machine()
    if options.before:
        words = ["git", "rev-parse", "--short", "HEAD"]
        against = subprocess.run(words, cwd=codes["before"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for index in make_indexes(codes, Path(folder), options.dense):
            sizes.append(measure(index, codes, options.runs, Path(folder)))
            print(json.dumps(sizes[-1]), file=sys.stderr, flush=True)
    figures = {"against": against, "machine": facts, "load_after": load(), "runs": options.runs, "sizes": sizes}
    print(json.dumps(keep("cold", figures, options.out), indent=1))


if __name__ == "__main__":
    main()
