"""Two graphs of one encoder on the same texts: CPU time, likeness and quality, set by set.

    python benchmarks/graphs.py BEFORE AFTER [--sets cranfield,cosqa] [--queries 60] [--documents 350]

BEFORE and AFTER are model folders. Of each set a sample is taken: so many queries, their relevant documents, and others
up to that number. Times are the least of several rounds in turns, CPU of the one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, ROOT, SHARED, CommandFailed, keep, load, machine
from tokenizers import Tokenizer

from watersmeet.embed.onnx import Onnx
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import load as load_settings
from watersmeet.evaluate.compare import compare
from watersmeet.evaluate.data import Dataset
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.metrics import judge
from watersmeet.evaluate.run import WHOLE, run

DATA = SHARED / "data" / "eval"
FAMILIES = {
    "tools": ("metatool", "ultratool_en_test", "toollens_train1k", "bfcl_functions"),
    "science": ("scifact_train", "cranfield", "med"),
    "docs": ("k8s_anchor", "zoomcamp_faq", "anthropic_codebase_qa"),
    "code and web": ("cosqa", "msmarco_dl_pool5k"),
}
SHOWN = ("ndcg@10", "mrr@10", "hit@1")
FLOAT32 = ROOT / "tests" / "embed" / "granite_float32.npz"
CHARACTERS = 600_000
"""Other documents of a set are taken up to this size."""
TEXT_TOKENS, QUERY_TOKENS, ROUNDS = 269, 14, 30


def sampled(name: str, queries: int, documents: int, out: Path) -> Dataset:
    """A part of a set: some queries, their relevant documents and others."""
    whole = load_dataset(DATA / name).limited(queries, 0)
    relevant = {document for question in whole.questions for document in question.relevant}
    lines = [line for line in (DATA / name / "corpus.jsonl").read_text("utf8").split("\n") if line.strip()]
    needed = [line for line in lines if str(json.loads(line)["_id"]) in relevant]
    others = [line for line in lines if str(json.loads(line)["_id"]) not in relevant]
    random.Random(0).shuffle(others)  # noqa: S311 - a sample
    chosen, size = needed, sum(map(len, needed))
    for line in others[: max(0, documents - len(needed))]:
        size += len(line)
        if size > CHARACTERS:
            break
        chosen.append(line)
    folder = out / name
    shutil.copytree(DATA / name, folder)
    (folder / "corpus.jsonl").write_text("\n".join(chosen) + "\n", "utf8")
    kept = {str(json.loads(line)["_id"]) for line in chosen}
    head, *judged = (folder / "qrels.tsv").read_text("utf8").splitlines()
    rest = [line for line in judged if line.split("\t")[1] in kept]
    (folder / "qrels.tsv").write_text("\n".join([head, *rest]) + "\n", "utf8")
    return load_dataset(folder).limited(queries, 0)


def ranked(dataset: Dataset, model: str, index: Path) -> dict[str, list[dict[str, float]]]:
    """Scores of each query, for the fused ranking and for dense vectors alone. Both graphs have one fingerprint, so
    each has a cache of vectors of its own."""
    os.environ["XDG_CACHE_HOME"] = str(index.with_suffix(".cache"))
    chosen = load_settings(environ={}, start=str(ROOT), flags={"embed": {"onnx": {"model": model}}})
    assert dataset.corpus is not None
    with Engine(index, chosen) as engine:
        engine.sync([dataset.corpus], deepen=False)
        if warnings := engine.deepen().warnings:
            raise CommandFailed(f"{dataset.name}: {warnings}")
        found = run(engine, dataset.questions, "default", "", lambda step: None)
        if found.failures or "dense" not in found.rankings:
            raise CommandFailed(f"{dataset.name}: {found.failures or engine.status()}")
    return {
        name: [dict(zip(SHOWN, values, strict=True)) for values in _scores(dataset, found.rankings[signal])]
        for name, signal in (("default", WHOLE), ("dense", "dense"))
    }


def _scores(dataset: Dataset, rankings: Sequence[tuple[str, ...]]) -> Iterable[tuple[float, ...]]:
    judged = judge(dataset.questions, rankings)
    return zip(*(judged[name] for name in SHOWN), strict=True)


Scores = dict[str, dict[str, list[dict[str, float]]]]
"""By model and by way of searching, the scores of each query."""


def scored(name: str, models: dict[str, str], queries: int, documents: int, kept: Path | None) -> Scores:
    """Scores of a set, from an earlier run if that was broken off."""
    file = kept / f"{name}.json" if kept else None
    if file and file.is_file():
        return dict(json.loads(file.read_text("utf8")))
    with tempfile.TemporaryDirectory(prefix="graphs-") as folder:
        dataset = sampled(name, queries, documents, Path(folder))
        found = {one: ranked(dataset, path, Path(folder) / f"index-{one}") for one, path in models.items()}
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), "utf8")
    return found


def quality(sets: Sequence[str], models: dict[str, str], scores: Callable[[str], Scores]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    every: Scores = {one: {"default": [], "dense": []} for one in models}
    for name in sets:
        by_model = scores(name)
        found[name] = {"queries": len(by_model["before"]["default"])}
        for way in ("default", "dense"):
            found[name][way] = differences({one: by_model[one][way] for one in models})
            for one in models:
                every[one][way] += by_model[one][way]
        print(name, json.dumps(found[name]), flush=True)
    pooled = {way: differences({one: every[one][way] for one in models}) for way in ("default", "dense")}
    return {"sets": found, "all_queries": {"queries": len(every["before"]["dense"]), **pooled}}


def differences(both: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Means of both, and the paired difference with its 95 % interval."""
    result: dict[str, Any] = {}
    for measure in SHOWN:
        before, after = ([one[measure] for one in both[name]] for name in ("before", "after"))
        d = compare(after, before)
        result[measure] = {
            "before": round(float(np.mean(before)), 4),
            "after": round(float(np.mean(after)), 4),
            "difference": [round(value, 4) for value in (d.delta, d.low, d.high)],
        }
    return result


def speed(models: dict[str, str]) -> dict[str, Any]:
    """CPU of a text and of a query, and the likeness of the vectors."""
    with np.load(FLOAT32) as kept:
        texts, exact = kept["texts"].tolist(), kept["vectors"].astype(np.float32)
    encoders = {name: Onnx(model=path, threads=1) for name, path in models.items()}
    result: dict[str, Any] = {}
    for name, encoder in encoders.items():
        cosines = (encoder.embed(texts) * exact).sum(1)
        result[name] = {"cosine_to_float32": [round(float(x), 5) for x in (cosines.mean(), cosines.min())]}
    vectors = [encoder.embed(texts) for encoder in encoders.values()]
    same = (vectors[0] * vectors[1]).sum(1)
    result["cosine_of_both"] = [round(float(x), 5) for x in (same.mean(), same.min())]
    pages = " ".join(path.read_text("utf8") for path in sorted((ROOT / "docs" / "decisions").glob("*.md")))
    ids = Tokenizer.from_file(str(Path(next(iter(models.values()))) / "tokenizer.json"))  # its own: it is not cut
    ids.no_truncation()
    tokens = ids.encode(pages).ids
    for key, size, count in (("text_ms", TEXT_TOKENS, 24), ("query_ms", QUERY_TOKENS, 60)):
        passes = [[0, *tokens[size * n : size * (n + 1) - 2], 2] for n in range(count)]
        least = {name: np.full(count, np.inf) for name in models}
        for _ in range(ROUNDS if key == "query_ms" else ROUNDS // 6):
            for name, encoder in encoders.items():
                model = encoder._encoder()
                for number, one in enumerate(passes):
                    start = time.thread_time()
                    model.run([one])
                    least[name][number] = min(least[name][number], time.thread_time() - start)
        for name in models:
            result[name][key] = round(1000 * float(least[name].mean()), 3)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--sets", default=",".join(name for names in FAMILIES.values() for name in names))
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--documents", type=int, default=350)
    parser.add_argument("--kept", type=Path, help="a folder for the scores of each set, to go on with")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    where = machine()
    models = {"before": str(options.before.resolve()), "after": str(options.after.resolve())}
    figures = {"tokens": {"text": TEXT_TOKENS, "query": QUERY_TOKENS}, **speed(models)}
    print(json.dumps(figures), flush=True)
    sets = [name for name in options.sets.split(",") if name]
    if sets:
        scores = partial(scored, models=models, queries=options.queries, documents=options.documents, kept=options.kept)
        figures |= quality(sets, models, scores)
        figures |= {"queries_each": options.queries, "documents_each": options.documents}
    figures["load_after"] = load()
    print(json.dumps(keep("graphs", {"machine": where, **figures}, options.out)))


if __name__ == "__main__":
    main()
