"""The encoder of queries, tuned for one corpus: trained on one half of a dev set's questions, measured on the other.

    python benchmarks/encoder.py [--sets metatool,cosqa] [--minutes 2] [--seed 0]

It needs the extras `train` and `eval`. Nothing is stored in the indexes. Confidence is looked at too: the share of
other sets' queries that are flagged as without an answer, before and after.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, load, machine
from quality import settings

from watersmeet.engine.engine import Engine
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.encoder.tune import tune_encoder
from watersmeet.evaluate.index import indexed

DATA = SHARED / "data" / "eval"
SETS = "metatool,ultratool_en_test,cosqa,k8s_anchor,scifact_train"


FOREIGN = "cranfield,med,zoomcamp_faq,anthropic_codebase_qa,cosqa,scifact_train,bfcl_functions"
EACH = 15
"""Queries of each other set."""


def measure(folder: Path, minutes: float, seed: int) -> dict[str, Any]:
    dataset = load_dataset(folder)
    with tempfile.TemporaryDirectory(prefix="encoder-") as scratch:
        tuned = tune_encoder(dataset, settings("default"), "", Path(scratch), minutes, seed, lambda step: None)
        foreign = {
            name: flagged(folder, {"embed": {"onnx": {"query_model": model}}})
            for name, model in (("before", "granite-30m"), ("after", scratch))
        }
    return {**tuned.to_json(), "foreign_flagged": foreign}


def flagged(folder: Path, flags: dict[str, Any]) -> float:
    """The share of other sets' queries that are answered with `no_good_match`."""
    others = [load_dataset(folder.parent / name) for name in FOREIGN.split(",") if name != folder.name]
    texts = [question.text for other in others for question in other.limited(EACH, 0).questions]
    dataset, chosen = load_dataset(folder), settings("default", flags)
    with Engine(indexed(dataset, chosen, "", lambda step: None).folder, chosen) as engine:
        return round(sum(engine.search(text).no_good_match for text in texts) / len(texts), 3)


def markdown(result: dict[str, Any]) -> str:
    lines = [
        "| set | trained on | reported | nDCG@10 | MRR@10 | hit@1 | difference of nDCG@10 | "
        "document trained on | others | stored | mean confidence | other sets' queries flagged | training, CPU |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|",
    ]
    for name, found in result["sets"].items():
        d, before, after = found["comparison"], found["before"], found["after"]
        figures = [f"{before[one]:.3f} -> {after[one]:.3f}" for one in ("ndcg@10", "mrr@10", "hit@1")]
        lines.append(
            f"| {name} | {found['train']} | {found['report']} | {' | '.join(figures)} | "
            f"{d['delta']:+.3f} ({d['low']:+.3f} to {d['high']:+.3f}) | "
            f"{_group(found['by_documents']['trained_on'])} | {_group(found['by_documents']['others'])} | "
            f"{'yes' if found['significant'] else 'no'} | {_both(found['confidence'])} | "
            f"{_both(found['foreign_flagged'])} | {found['cpu_seconds']:.0f} s |"
        )
    lines += [
        "",
        f"`default`, seed {result['seed']}. Measured at {result['commit']}, 2 cores, {result['processor']}.",
        "",
    ]
    return "\n".join(lines)


def _group(found: dict[str, float]) -> str:
    return f"{found['delta']:+.3f} ({found['questions']})" if found["questions"] else "-"


def _both(found: dict[str, float]) -> str:
    return f"{found['before']:.2f} -> {found['after']:.2f}"


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
