"""The cut of text results: how often it leaves out a relevant document of the first five.

    python benchmarks/cut.py [--queries 150] [--index FOLDER]

Each set is indexed once below FOLDER, the smaller ones with the transformer. Compared are shares of the best score.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, machine

from watersmeet.engine.engine import Engine
from watersmeet.evaluate.data import load
from watersmeet.present.groups import DOCUMENTS, before_drop, grouped, passages_for

DATA = SHARED / "data" / "eval"
DENSE = ("zoomcamp_faq", "anthropic_codebase_qa", "cranfield", "metatool", "med")
STATIC = ("ident_docs", "k8s_anchor", "obsidian_hub_alias", "scifact_train", "msmarco_dl_pool5k", "cosqa")
SHARES = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
Row = tuple[list[float], list[bool]]
"""Fused scores of the first documents, and whether each is relevant."""


def rows(name: str, folder: Path, queries: int) -> list[Row]:
    questions = list(load(DATA / name).questions)
    random.Random(1).shuffle(questions)  # noqa: S311 - a sample
    found = []
    with Engine(folder / name) as engine:
        engine.sync([DATA / name / "corpus.jsonl"], deepen=name in DENSE)
        for question in questions[:queries]:
            groups = grouped(engine.search(question.text, top_n=passages_for(None)).results)[:DOCUMENTS]
            relevant = [group.best.document in question.relevant for group in groups]
            found.append(([group.fused for group in groups], relevant))
    return found


def measured(found: list[Row], share: float) -> dict[str, float]:
    kept = [before_drop(scores, share) for scores, _ in found]
    lost = sum(any(relevant[end:]) for (_, relevant), end in zip(found, kept, strict=True))
    cut = sum(end < len(scores) for (scores, _), end in zip(found, kept, strict=True))
    return {
        "cut": round(cut / len(found), 4),
        "lost": round(lost / len(found), 4),
        "shown": round(sum(kept) / len(found), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = {}
        for name in (*DENSE, *STATIC):
            found[name] = rows(name, arguments.index or Path(place), arguments.queries)
            print(name, len(found[name]), file=sys.stderr, flush=True)
    everything = [row for one in found.values() for row in one]
    result: dict[str, Any] = {"machine": machine(), "queries": len(everything)}
    result["shares"] = {str(share): measured(everything, share) for share in SHARES}
    result["sets"] = {name: {str(share): measured(one, share) for share in SHARES} for name, one in found.items()}
    keep("cut", result, arguments.out)
    for share, row in result["shares"].items():
        print(f"{share}: cut {row['cut']:.1%}, lost {row['lost']:.2%}, shown {row['shown']:.2f}")


if __name__ == "__main__":
    main()
