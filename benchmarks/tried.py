"""Candidates for the default: each added alone, on all dev sets, with the paired difference.

python benchmarks/tried.py [--limit 150] [--only sparse,phrase]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, machine
from quality import settings

from watersmeet.evaluate.compare import compare
from watersmeet.evaluate.data import load
from watersmeet.evaluate.evaluation import evaluate
from watersmeet.evaluate.metrics import MAIN
from watersmeet.evaluate.run import WHOLE

DATA = SHARED / "data" / "eval"
DEFAULT = settings("default").tables
SIGNALS: list[str] = DEFAULT["pipeline"]["signals"]
STEPS: list[str] = DEFAULT["pipeline"]["understand"]
STAGES: list[str] = DEFAULT["pipeline"]["stages"]
WEIGHTS: dict[str, float] = DEFAULT["fusion"]["convex"]["weights"]


def signal(name: str, weight: float) -> dict[str, Any]:
    weights = {**WEIGHTS, name: weight}
    return {"pipeline": {"signals": [*SIGNALS, name]}, "fusion": {"convex": {"weights": weights}}}


TRIED: dict[str, dict[str, Any]] = {
    "sparse, weight .1": signal("sparse", 0.1),
    "sparse, weight .2": signal("sparse", 0.2),
    "graph, weight .05": signal("graph", 0.05),
    "expand": {"pipeline": {"understand": [*STEPS, "expand"]}},
    "phrase, weight .05": {"pipeline": {"stages": ["phrase", *STAGES]}, "stage": {"phrase": {"weight": 0.05}}},
    "phrase, weight .1": {"pipeline": {"stages": ["phrase", *STAGES]}},
    "title bonus .6 instead of .3": {"signal": {"lexical": {"title": 0.6}}},
    "static searches itself": {"pipeline": {"follow": {"static": ""}}},
    "without exact": {"pipeline": {"signals": [s for s in SIGNALS if s != "exact"]}},
    "without static": {"pipeline": {"signals": [s for s in SIGNALS if s != "static"]}},
    "without sentences": {"pipeline": {"understand": [step for step in STEPS if step != "sentences"]}},
    "without document_support": {"pipeline": {"stages": [stage for stage in STAGES if stage != "document_support"]}},
    "without peak": {"fusion": {"convex": {"peak": 0.0}}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    wanted = [name for name in TRIED if not args.only or any(part in name for part in args.only.split(","))]
    names = sorted(path.parent.name for path in DATA.glob("*/qrels.tsv"))
    sets = {name: load(DATA / name).limited(args.limit, 0) for name in names}
    default = {name: list(evaluate(data, settings("default")).scores[WHOLE][MAIN]) for name, data in sets.items()}
    table: dict[str, Any] = {}
    for tried in wanted:
        deltas: dict[str, Any] = {}
        for name, data in sets.items():
            theirs = list(evaluate(data, settings("default", TRIED[tried])).scores[WHOLE][MAIN])
            found = compare(theirs, default[name])
            deltas[name] = {"delta": round(found.delta, 4), "low": round(found.low, 4), "high": round(found.high, 4)}
        means = [deltas[name]["delta"] for name in names]
        over = compare(means, [0.0] * len(means))
        table[tried] = {
            "sets": deltas,
            "mean": round(over.delta, 4),
            "low": round(over.low, 4),
            "high": round(over.high, 4),
        }
        print(f"{tried}: {over.delta:+.4f} ({over.low:+.4f} to {over.high:+.4f})", file=sys.stderr, flush=True)
    result = keep("tried", {"machine": machine(), "limit": args.limit, "tried": table}, args.out)
    text = markdown(result)
    (args.out / f"tried-{result['commit']}.md").write_text(text, "utf8")
    print(text)


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"# Tried at {result['commit']}",
        "",
        f"{result['date']}. By how much nDCG@10 is better than `default`, at most {result['limit']} queries a set: the"
        " mean over the sets with the interval over sets, and the sets where the paired interval does not hold 0.",
        "",
        "| change | mean over the sets | better on | worse on |",
        "|---|---|---|---|",
    ]
    for name, row in result["tried"].items():
        sides = []
        for sign in (1, -1):
            significant = [
                (s, d["delta"]) for s, d in row["sets"].items() if min(sign * d["low"], sign * d["high"]) > 0
            ]
            sides.append(", ".join(f"{s} {delta:+.3f}" for s, delta in significant) or "none")
        lines.append(
            f"| {name} | {row['mean']:+.4f} ({row['low']:+.4f} to {row['high']:+.4f}) | {sides[0]} | {sides[1]} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
