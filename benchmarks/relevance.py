"""Relevance before and after a change: every query of all dev sets, paired, by set and by family.

    python benchmarks/relevance.py --run FILE [--tree FOLDER]     (ask all queries; FOLDER: source of another checkout)
    python benchmarks/relevance.py --compare BEFORE AFTER         (the table)

The macro-mean counts every family alike, and every set of a family alike. Intervals are by bootstrap over the queries
of each set.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, machine

FAMILIES = {
    "tools": (
        "metatool ultratool_en_test sealtools toollens_train1k bfcl_functions apibench_hf mcpbench_servers".split()
    ),
    "science": "scifact_train cranfield med cacm cisi".split(),
    "docs": "k8s_anchor obsidian_hub_alias ident_docs anthropic_codebase_qa zoomcamp_faq".split(),
    "code and web": "cosqa msmarco_dl_pool5k".split(),
}
METRICS = ("ndcg@10", "mrr@10", "hit@1")
RESAMPLES = 2000


def run(place: Path, data: Path, names: list[str]) -> None:
    """Per-query scores of `default` on each set; what the file already has is not asked again."""
    from quality import settings

    from watersmeet.evaluate.data import load
    from watersmeet.evaluate.evaluation import evaluate
    from watersmeet.evaluate.run import WHOLE

    found: dict[str, Any] = json.loads(place.read_text("utf8")) if place.exists() else {}
    for name in names:
        if name in found:
            continue
        start = time.perf_counter()
        scores = evaluate(load(data / name), settings("default")).scores[WHOLE]
        found[name] = {metric: [round(value, 6) for value in scores[metric]] for metric in METRICS}
        place.write_text(json.dumps(found), "utf8")
        mean = sum(found[name]["ndcg@10"]) / len(found[name]["ndcg@10"])
        print(f"{name}: {mean:.4f} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)


def compared(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    random_ = np.random.default_rng(0)
    draws: dict[str, Any] = {}
    sets: dict[str, Any] = {}
    for name in (name for names in FAMILIES.values() for name in names if name in before and name in after):
        row: dict[str, Any] = {"queries": len(after[name]["ndcg@10"])}
        for metric in METRICS:
            old, new = np.array(before[name][metric]), np.array(after[name][metric])
            row[metric] = {"before": round(float(old.mean()), 4), "after": round(float(new.mean()), 4)}
            if metric == "ndcg@10":
                delta = new - old
                draws[name] = delta[random_.integers(0, len(delta), (RESAMPLES, len(delta)))].mean(axis=1)
                row[metric] |= _difference(float(delta.mean()), draws[name])
        sets[name] = row
    families: dict[str, Any] = {}
    for family, names in FAMILIES.items():
        names = [name for name in names if name in sets]
        mean = float(np.mean([sets[name]["ndcg@10"]["delta"] for name in names]))
        draws[family] = np.mean([draws[name] for name in names], axis=0)
        families[family] = _difference(mean, draws[family])
    whole = np.mean([draws[family] for family in families], axis=0)
    macro = _difference(float(np.mean([one["delta"] for one in families.values()])), whole)
    return {"sets": sets, "families": families, "macro": macro}


def _difference(mean: float, draws: Any) -> dict[str, float]:
    import numpy as np

    low, high = np.quantile(draws, [0.025, 0.975])
    return {"delta": round(mean, 4), "low": round(float(low), 4), "high": round(float(high), 4)}


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"# Relevance at {result['commit']}, beside {result['before']}",
        "",
        f"{result['date']}. `default`, all queries. Before, after, and the paired difference of nDCG@10 with its 95 %"
        " interval.",
        "",
        "| set | queries | nDCG@10 | difference | MRR@10 | hit@1 |",
        "|---|--:|---|---|---|---|",
    ]
    for name, row in result["sets"].items():
        main, mrr, hit = (row[metric] for metric in METRICS)
        lines.append(
            f"| {name} | {row['queries']} | {main['before']:.3f} → {main['after']:.3f} | {_shown(main)} |"
            f" {mrr['before']:.3f} → {mrr['after']:.3f} | {hit['before']:.3f} → {hit['after']:.3f} |"
        )
    lines += ["", "| family | difference |", "|---|---|"]
    lines += [f"| {name} | {_shown(row)} |" for name, row in result["families"].items()]
    return "\n".join([*lines, f"| **macro-mean** | {_shown(result['macro'])} |", ""])


def _shown(row: dict[str, float]) -> str:
    text = f"{row['delta']:+.4f} ({row['low']:+.4f} to {row['high']:+.4f})"
    return f"**{text}**" if row["low"] * row["high"] > 0 else text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--run", type=Path, help="ask all queries, and write the scores to this file")
    parser.add_argument("--tree", type=Path, help="with --run: the source folder of another checkout")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--before", default="", help="the commit of the first file")
    parser.add_argument("--sets", default="")
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "eval")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    names = [name for name in args.sets.split(",") if name] or [name for each in FAMILIES.values() for name in each]
    if args.run and args.tree:
        words = [sys.executable, __file__, "--run", str(args.run), "--data", str(args.data), "--sets", ",".join(names)]
        subprocess.run(words, env=os.environ | {"PYTHONPATH": str(args.tree)}, check=True)
    elif args.run:
        run(args.run, args.data, names)
    if args.compare:
        before, after = (json.loads(place.read_text("utf8")) for place in args.compare)
        figures = {"machine": machine(), "before": args.before, **compared(before, after)}
        result = keep("relevance", figures, args.out)
        text = markdown(result)
        (args.out / f"relevance-{result['commit']}.md").write_text(text, "utf8")
        print(text)


if __name__ == "__main__":
    main()
