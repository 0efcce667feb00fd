"""CPU of a query and of an index, before and after a change: two checkouts in turn, in one run.

    python benchmarks/cost.py BEFORE [--rounds 3] [--queries 150]

BEFORE is the root of another checkout. Each round asks the same queries of three dev sets in a process for each
checkout, and indexes one Markdown corpus with static vectors. Medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import ROOT, SHARED, keep, machine

SETS = ("scifact_train", "k8s_anchor", "metatool")
CORPUS = SHARED / "data" / "markdown" / "obsidian_help_en"
WORK = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from quality import settings
from watersmeet.core.model import Request
from watersmeet.engine.engine import Engine
from watersmeet.evaluate.data import load
from watersmeet.evaluate.index import indexed
found = {}
for name in json.loads(sys.argv[4]):
    data = load(Path(sys.argv[2]) / name)
    with Engine(indexed(data, settings("default"), "", lambda step: None).folder, settings("default")) as engine:
        texts = [question.text for question in data.questions[: int(sys.argv[5])]]
        for text in texts[:10]:
            engine.search(Request(text))
        start = time.process_time()
        for text in texts:
            engine.search(Request(text))
        found[name] = 1000 * (time.process_time() - start) / len(texts)
with Engine(sys.argv[6], settings("default", {"index": {"dense": ""}})) as engine:
    start = time.process_time()
    engine.sync([sys.argv[3]])
    found["index"] = time.process_time() - start
print(json.dumps(found))
"""


def measure(tree: Path, data: Path, count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", WORK, str(ROOT / "benchmarks"), str(data), str(CORPUS), json.dumps(SETS)]
        words += [str(count), f"{folder}/index"]
        env = os.environ | {"PYTHONPATH": str(tree / "src")}
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "eval")
    args = parser.parse_args()
    trees = {"before": args.before.resolve(), "after": ROOT}
    for tree in trees.values():  # the indexes are made and measured first
        measure(tree, args.data, 1)
    rounds = [
        {name: measure(tree, args.data, args.queries) for name, tree in trees.items()} for _ in range(args.rounds)
    ]
    figures: dict[str, Any] = {}
    for key in (*SETS, "index"):
        before, after = (statistics.median(one[name][key] for one in rounds) for name in trees)
        figures[key] = {"before": round(before, 2), "after": round(after, 2), "ratio": round(after / before, 3)}
    print(json.dumps(keep("cost", {"machine": machine(), "unit": "CPU ms a query; index: CPU s", **figures}), indent=1))


if __name__ == "__main__":
    main()
