"""Equality of results from a folder and from the cluster it was pushed to: on one node of Qdrant, and on three.

    python benchmarks/same_answers.py [--sets cranfield scifact_train] [--queries 100] [--nodes 1 3] [--keep]

Three nodes have 6 shards of 2 copies. Each query is asked of both by the same engine and recipe, in every mode and with
filters. Counted: the same first 10 in the same order, the same 10, the same first; and how far apart the scores are at
most. Dense vectors are those of the embedder `hashed`, which needs no model. Then a fifth of the documents is edited in
both, and the cluster goes on with the statistics of before: nDCG@10 of both, with the interval of the difference.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, keep, machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from clusters import Qdrant, running
from watersmeet import Engine
from watersmeet.core.model import Condition, Request
from watersmeet.engine.index.location import open_index
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.engine.sync.push import push
from watersmeet.evaluate.data import Dataset
from watersmeet.evaluate.data import load as load_dataset

SETS = ("cranfield", "metatool", "zoomcamp_faq", "scifact_train", "cisi")
MODES = ("lexical", "exact", "static", "dense", "hybrid")
FILTERS = {
    "tag": Condition({"tag": ("even",)}),
    "without a tag": Condition(without=(("tag", ("even",)),)),
    "path": Condition({"path": ("*1*",)}),
}
ENVIRON = {"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__STORE__POSTGRES__EPOCH_SHARE": "1"}
SPREAD = {1: {}, 3: {"SHARDS": "6", "REPLICAS": "2"}}
Hits = list[tuple[str, float]]


@contextmanager
def cluster(nodes: int) -> Iterator[dict[str, str]]:
    """Variables that lead to PostgreSQL and so many nodes of Qdrant."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wm-nodes-")))
        started: list[Qdrant] = []
        for number in range(nodes):
            started.append(Qdrant(folder / str(number), started[0] if started else None, clustered=nodes > 1))
            stack.callback(started[-1].stop)
        of = "WATERSMEET__STORE__POSTGRES__"
        settings = {f"{of}QDRANT": json.dumps([one.url for one in started])}
        settings[f"{of}QDRANT_GRPC_PORTS"] = json.dumps([one.grpc_port for one in started])
        yield ENVIRON | settings | {f"{of}{name}": value for name, value in SPREAD[nodes].items()}


def prepared(dataset: Dataset, folder: Path) -> None:
    """The corpus with a tag on every second document, as one file."""
    assert dataset.corpus is not None
    with open(folder / "corpus.jsonl", "w", encoding="utf8") as file:
        for number, line in enumerate(dataset.corpus.read_text().split("\n")):
            if line:
                read = json.loads(line)
                metadata = {**(read.get("metadata") or {}), **({"tags": ["even"]} if number % 2 == 0 else {})}
                file.write(json.dumps({**read, "metadata": metadata}) + "\n")


def edited(folder: Path) -> None:
    """Every fifth document says what the one before it says as well."""
    path = folder / "corpus.jsonl"
    lines = [json.loads(line) for line in path.read_text().split("\n") if line]
    for number in range(4, len(lines), 5):
        lines[number]["text"] = f"{lines[number]['text']}\n\n{lines[number - 1]['text'][:300]}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def results_of(engine: Engine, query: str, **options: Any) -> Hits:
    answer = engine.search(Request(query, top_n=10, **options))
    if answer.failures:
        raise SystemExit(f"{query!r}: {answer.failures}")
    return [(result.id, result.score) for result in answer.results]


def compared(pairs: Sequence[tuple[Hits, Hits]]) -> dict[str, Any]:
    found: dict[str, Any] = {"queries": len(pairs), "order": 0, "set": 0, "first": 0, "apart": 0.0}
    for ours, theirs in pairs:
        order, other = [chunk for chunk, _ in ours], [chunk for chunk, _ in theirs]
        found["order"] += order == other
        found["set"] += set(order) == set(other)
        found["first"] += order[:1] == other[:1]
        scores = dict(theirs)
        apart = max((abs(score - scores[chunk]) for chunk, score in ours if chunk in scores), default=0.0)
        found["apart"] = max(found["apart"], apart)
    return found


def gains(engine: Engine, dataset: Dataset) -> list[float]:
    found = []
    for question in dataset.questions:
        relevant = {name: grade for name, grade in question.relevant.items() if grade > 0}
        answer = engine.search(Request(question.text, top_n=10, one_per_document=True))
        grades = [relevant.get(result.document.rpartition("#")[2], 0) for result in answer.results]
        best = sorted(relevant.values(), reverse=True)[:10]
        whole = sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(best))
        found.append(sum((2**grade - 1) / math.log2(n + 2) for n, grade in enumerate(grades)) / whole if whole else 0.0)
    return found


def after_edits(folder: Path, ours: Engine, theirs: Engine, dataset: Dataset) -> dict[str, Any]:
    edited(folder)
    for engine in (ours, theirs):
        engine.sync([folder / "corpus.jsonl"])
        engine.deepen()
    local, other = gains(ours, dataset), gains(theirs, dataset)
    apart = [b - a for a, b in zip(local, other, strict=True)]
    spread = 1.96 * statistics.stdev(apart) / math.sqrt(len(apart))
    mean = statistics.fmean(apart)
    return {
        "local": round(statistics.fmean(local), 4),
        "cluster": round(statistics.fmean(other), 4),
        "difference": [round(mean - spread, 5), round(mean, 5), round(mean + spread, 5)],
    }


def run(name: str, data: Path, queries: int, nodes: Sequence[int]) -> dict[str, Any]:
    dataset = load_dataset(data / name).limited(queries, 7)
    texts = [question.text for question in dataset.questions]
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for count in nodes:
            folder = Path(place) / str(count)
            folder.mkdir()
            prepared(dataset, folder)
            with cluster(count) as environ:
                report[f"{count} nodes"] = _one(name, folder, load(environ=environ), dataset, texts, count)
            shutil.rmtree(folder)
    return report


def _one(
    name: str, folder: Path, settings: Settings, dataset: Dataset, texts: Sequence[str], nodes: int
) -> dict[str, Any]:
    target = f"{running().postgres}&index=same_{name}_{nodes}"
    with Engine(folder / "index", settings) as ours:
        ours.sync([folder / "corpus.jsonl"])
        ours.deepen()
        start, cpu = time.perf_counter(), time.process_time()
        pushed = push(ours, target, lambda *_: None)
        report: dict[str, Any] = {
            "chunks": pushed.rows,
            "push_seconds": round(time.perf_counter() - start, 1),
            "push_cpu_seconds": round(time.process_time() - cpu, 1),
        }
        with Engine(target, settings) as theirs:
            for mode in MODES:
                pairs = [(results_of(ours, q, mode=mode), results_of(theirs, q, mode=mode)) for q in texts]
                report[mode] = compared(pairs)
            for what, condition in FILTERS.items():
                both = [
                    (results_of(ours, q, condition=condition), results_of(theirs, q, condition=condition))
                    for q in texts
                ]
                report[what] = compared(both)
            report["a fifth edited"] = after_edits(folder, ours, theirs, dataset)
    index: Any = open_index(target, settings)
    index.drop()
    index.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--nodes", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "eval")
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    sets = {}
    for name in wanted.sets:
        sets[name] = run(name, wanted.data, wanted.queries, wanted.nodes)
        print(name, json.dumps(sets[name]), file=sys.stderr, flush=True)
    figures = {"machine": machine(), "sets": sets}
    print(json.dumps(keep("same_answers", figures, RESULTS if wanted.keep else None), indent=1))


if __name__ == "__main__":
    main()
