"""Recipes compared with `default` on every dev set, with paired intervals of the difference.

    python benchmarks/recipes.py [--sets scifact_train,cosqa] [--limit 200]

Beside the recipes: RRF with k = 60 over lexical and dense, and the best single signal of each set.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, machine
from quality import settings

from watersmeet.engine.settings.settings import recipes
from watersmeet.evaluate.compare import compare, interval
from watersmeet.evaluate.data import Dataset, load
from watersmeet.evaluate.evaluation import Evaluation, evaluate
from watersmeet.evaluate.metrics import MAIN
from watersmeet.evaluate.run import WHOLE

DATA = SHARED / "data" / "eval"
RRF = {
    "pipeline": {
        "understand": ["words"],
        "signals": ["lexical", "dense"],
        "fusion": "rrf",
        "stages": ["unit", "top"],
        "pool": 100,
    },
    "fusion": {"rrf": {"k": 60}},
}


def figures(values: list[float]) -> dict[str, float]:
    low, high = interval(values)
    return {MAIN: round(sum(values) / len(values), 4), "low": round(low, 4), "high": round(high, 4)}


def beside(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """Another way's figures, and by how much `default` is better."""
    difference = compare(ours, theirs)
    delta = {"delta": difference.delta, "delta_low": difference.low, "delta_high": difference.high, "p": difference.p}
    return figures(theirs) | {name: round(value, 4) for name, value in delta.items()}


def of(made: Evaluation, name: str = WHOLE) -> list[float]:
    return list(made.scores[name][MAIN])


def default_beside(dataset: Dataset) -> tuple[dict[str, Any], list[float]]:
    """`default` beside the best single signal and RRF, and its figure for each query."""
    default = evaluate(dataset, settings("default"))
    ours = of(default)
    signals = {name: of(default, name) for name in default.scores if name != WHOLE}
    best = max(signals, key=lambda name: sum(signals[name]))
    return {
        "documents": default.documents,
        "queries": len(ours),
        "mode": default.run.mode,
        "default": figures(ours),
        "best signal": {"signal": best, **beside(ours, signals[best])},
        "rrf60": beside(ours, of(evaluate(dataset, settings("default", RRF)))),
    }, ours


def measure(dataset: Dataset) -> dict[str, Any]:
    entry, ours = default_beside(dataset)
    for recipe in recipes():
        if recipe != "default":
            entry[recipe] = beside(ours, of(evaluate(dataset, settings(recipe))))
    return entry


def markdown(result: dict[str, Any]) -> str:
    others = ["best signal", "rrf60", *(name for name in recipes() if name != "default")]
    lines = [
        f"# Recipes at {result['commit']}",
        "",
        f"{result['date']}. nDCG@10; in brackets by how much `default` is better, with the 95 % interval of the paired"
        " difference. Bold: the interval does not hold 0.",
        "",
        "| set | queries | default | " + " | ".join(others) + " |",
        "|---|--:|" + "---|" * (len(others) + 1),
    ]
    for name, entry in result["sets"].items():
        own = entry["default"]
        cells = [f"{own[MAIN]:.3f} ({own['low']:.3f} to {own['high']:.3f})"]
        cells += [_cell(entry[other]) for other in others]
        lines.append(f"| {name} | {entry['queries']} | " + " | ".join(cells) + " |")
    means = [_mean(result["sets"], name) for name in ("default", *others)]
    lines.append(f"| **mean of {len(result['sets'])}** | | " + " | ".join(f"**{mean:.4f}**" for mean in means) + " |")
    return "\n".join(lines) + "\n"


def _cell(other: dict[str, Any]) -> str:
    delta = f"{other['delta']:+.3f}, {other['delta_low']:+.3f} to {other['delta_high']:+.3f}"
    significant = other["delta_low"] > 0 or other["delta_high"] < 0
    name = f"{other['signal']} " if "signal" in other else ""
    return f"{name}{other[MAIN]:.3f} (" + (f"**{delta}**" if significant else delta) + ")"


def _mean(sets: dict[str, Any], name: str) -> float:
    return float(sum(entry[name][MAIN] for entry in sets.values()) / len(sets))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sets", default="", help="names, separated by commas; all that have judgements by default")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--limit", type=int, default=0, help="only so many queries of each set")
    args = parser.parse_args()
    names = [n for n in args.sets.split(",") if n] or sorted(p.parent.name for p in args.data.glob("*/qrels.tsv"))
    sets: dict[str, Any] = {}
    for name in names:
        start = time.perf_counter()
        sets[name] = measure(load(args.data / name).limited(args.limit, 0))
        took = time.perf_counter() - start
        print(f"{name}: {sets[name]['default'][MAIN]:.3f} ({took:.0f} s)", file=sys.stderr, flush=True)
    result = keep("recipes", {"machine": machine(), "limit": args.limit, "sets": sets}, args.out)
    text = markdown(result)
    (args.out / f"recipes-{result['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
