"""Is the dense signal as good as its model? Beside a bare onnxruntime loop and a brute-force cosine, on the same text.

    nice python benchmarks/dense_reference.py [--sets scifact_train:300,cranfield]

The texts are the index's own chunks with their breadcrumbs; the reference embeds each by itself, whatever the
embedding cache remembers, and ranks documents by their best chunk. nDCG@10 by ir-measures. scifact_train has about
6,900 chunks: some minutes of two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped] # it has no types
from _common import RESULTS, ROOT, SHARED, commit, keep, machine
from numpy.typing import NDArray
from tokenizers import Tokenizer

from watersmeet.core.model import ANY, Condition
from watersmeet.core.text_fields import breadcrumb
from watersmeet.embed._locate import locate
from watersmeet.engine.settings.settings import load
from watersmeet.evaluate.data import Dataset
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.evaluation import Evaluation, evaluate
from watersmeet.evaluate.index import cached
from watersmeet.evaluate.metrics import MAIN, judge
from watersmeet.store.local.documents import DocumentsView

DEEP = 100
MIN_NDCG = {"cranfield": 0.46}
"""The nDCG@10 that the dense signal must reach."""
APART = 0.01
"""The tolerated difference from the reference."""
SETTINGS = load(environ={}, start=str(ROOT))
"""The package's own."""


class Bare:
    """The bare model: a tokenizer, a session, one text per pass."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(512)

    def one(self, text: str) -> NDArray[np.float32]:
        ids = np.array([self.tokenizer.encode(text).ids], dtype=np.int64)
        (found,) = self.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        vector: NDArray[np.float32] = found[0] / np.linalg.norm(found[0])
        return vector

    def all(self, texts: list[str]) -> NDArray[np.float32]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return np.array(list(pool.map(self.one, texts)))


def chunks(index: Path) -> tuple[list[str], list[str]]:
    """The document and the embedded text of every chunk of an index."""
    snapshot = DocumentsView(str(index))
    try:
        with snapshot.transaction():
            rows = snapshot.every(ANY)
            ids = snapshot.resolve(rows, Condition())
            owners = snapshot.documents_of(set(ids.values()))
            found = snapshot.texts(rows)
    finally:
        snapshot.close()
    texts = [f"{breadcrumb(title, headings)}\n{text}" for _, title, headings, text in found]
    return [owners[ids[row]] for row, *_ in found], texts


def ranked(cosines: NDArray[np.float32], owners: list[str]) -> list[str]:
    """Documents by their best chunk."""
    order = np.argsort(-cosines, kind="stable")
    return list(dict.fromkeys(owners[place] for place in order[: 10 * DEEP]))[:DEEP]


def reference(bare: Bare, dataset: Dataset, index: Path) -> dict[str, Any]:
    owners, texts = chunks(index)
    start = time.perf_counter()
    matrix = bare.all(texts)
    took = time.perf_counter() - start
    queries = bare.all([question.text for question in dataset.questions])
    rankings = [ranked(matrix @ query, owners) for query in queries]
    scores = judge(dataset.questions, rankings)[MAIN]
    return {"chunks": len(texts), "seconds": round(took, 1), "rankings": rankings, "scores": scores}


def agreement(ours: Evaluation, theirs: list[list[str]]) -> float:
    """The share of queries whose first ten documents are the same in the same order."""
    pairs = zip(ours.run.rankings["dense"], theirs, strict=True)
    return round(sum(list(a[:10]) == b[:10] for a, b in pairs) / len(theirs), 4)


def dense(dataset: Dataset) -> Evaluation:
    """Our dense signal alone, through the engine."""
    ours = evaluate(dataset, SETTINGS, mode="dense")
    assert ours.run.mode == "dense", ours.run.failures
    return ours


def measure(bare: Bare, ours: Evaluation) -> dict[str, Any]:
    dataset = ours.dataset
    assert dataset.corpus is not None
    alone = float(np.mean(ours.scores["dense"][MAIN]))
    theirs = reference(bare, dataset, cached(dataset.name, dataset.corpus, SETTINGS))
    bar = float(np.mean(theirs["scores"]))
    minimum = MIN_NDCG.get(dataset.name, 0.0)
    return {
        "queries": len(dataset.questions),
        "documents": ours.documents,
        "chunks": theirs["chunks"],
        "dense_ndcg@10": round(alone, 4),
        "reference_ndcg@10": round(bar, 4),
        "difference": round(alone - bar, 4),
        "same_first_ten": agreement(ours, theirs["rankings"]),
        "at_least": minimum,
        "reference_seconds": theirs["seconds"],
        "good": abs(alone - bar) <= APART and alone >= minimum,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="scifact_train:300,cranfield", help="names, each with :FIRST QUERIES or not")
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "eval")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    facts = {"commit": commit(), "machine": machine()}  # as it is now; the reference takes long
    measured = []
    for entry in args.sets.split(","):
        name, _, first = entry.partition(":")
        dataset = load_dataset(args.data / name)
        measured.append(dense(replace(dataset, questions=dataset.questions[: int(first) if first else None])))
    bare = Bare(locate("granite-30m", "", False))
    sets = {}
    for ours in measured:
        sets[ours.dataset.name] = measure(bare, ours)
        print(ours.dataset.name, json.dumps(sets[ours.dataset.name]), file=sys.stderr, flush=True)
    print(json.dumps(keep("reference", {**facts, "sets": sets}, args.out), indent=1))
    return 0 if all(entry["good"] for entry in sets.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
