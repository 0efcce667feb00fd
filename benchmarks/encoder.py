"""The encoder of queries, tuned for one corpus: trained on one half of a dev set's questions, measured on the other.

    python benchmarks/encoder.py [--sets metatool,cosqa] [--minutes 2] [--seed 0]

It needs the extras `train` and `eval`. Nothing is stored in the indexes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, load, machine
from quality import settings

from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.encoder.tune import tune_encoder

DATA = SHARED / "data" / "eval"
SETS = "metatool,ultratool_en_test,cosqa,k8s_anchor,scifact_train"


def measure(folder: Path, minutes: float, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="encoder-") as scratch:
        tuned = tune_encoder(
            load_dataset(folder), settings("default"), "", Path(scratch), minutes, seed, lambda step: None
        )
    return tuned.to_json()


def markdown(result: dict[str, Any]) -> str:
    lines = [
        "| set | trained on | reported | nDCG@10 | MRR@10 | hit@1 | difference of nDCG@10 | stored | training, CPU |",
        "|---|--:|--:|--:|--:|--:|--:|---|--:|",
    ]
    for name, found in result["sets"].items():
        d, before, after = found["comparison"], found["before"], found["after"]
        figures = [f"{before[one]:.3f} -> {after[one]:.3f}" for one in ("ndcg@10", "mrr@10", "hit@1")]
        lines.append(
            f"| {name} | {found['train']} | {found['report']} | {' | '.join(figures)} | "
            f"{d['delta']:+.3f} ({d['low']:+.3f} to {d['high']:+.3f}) | "
            f"{'yes' if found['significant'] else 'no'} | {found['cpu_seconds']:.0f} s |"
        )
    lines += [
        "",
        f"`default`, seed {result['seed']}. Measured at {result['commit']}, 2 cores, {result['processor']}.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", default=SETS)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--minutes", type=float, default=2.0)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    where, sets = machine(), {}
    for name in options.sets.split(","):
        sets[name] = measure(options.data / name, options.minutes, options.seed)
        print(name, sets[name]["verdict"], flush=True)
    result = keep("encoder", {**where, "seed": options.seed, "minutes": options.minutes, "sets": sets, "load": load()})
    text = markdown(result)
    (RESULTS / f"encoder-{result['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
