"""Code search beside semble: questions from doc comments of repositories, and cosqa; quality and CPU time of both.

    python benchmarks/code_search.py --semble PYTHON --model FOLDER [--cosqa FOLDER] [--dense] REPOSITORY ...

PYTHON is an interpreter with semble installed. Repositories are working copies; nothing of them is kept. A question is
the first sentence of a function's doc comment. The doc comments of all functions are removed from what both index, a
question that has the function's name is left out, and a passage is right if it holds the line of the signature
(`file_ndcg@10`: if it is of the right file, since semble shows few passages of one file).
semble's own model is not on PyPI: FOLDER is potion-base-8M, the static model that both then use.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from _code_questions import Question, make
from _common import keep, machine

from watersmeet.evaluate.compare import compare

DEPTH = 10
OURS = """
import json, os, sys, tempfile
job = json.load(sys.stdin)
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
def cpu():
    return sum(os.times()[:4])
with tempfile.TemporaryDirectory() as folder:
    with Engine(folder + "/index", load(start=folder, environ={})) as engine:
        start = cpu()
        engine.sync([job["folder"]], deepen=job["dense"])
        indexed = cpu()
        answers = [engine.search(query, top_n=10).results for query in job["queries"]]
        done = cpu()
        chunks = engine.status()["chunks"]
found = [[[str(one.document), *(one.place.lines or (0, 0))] for one in results] for results in answers]
json.dump({"index": indexed - start, "query": done - indexed, "chunks": chunks, "found": found}, sys.stdout)
"""
SEMBLE = """
import json, os, sys
job = json.load(sys.stdin)
from semble import SembleIndex
def cpu():
    return sum(os.times()[:4])
start = cpu()
index = SembleIndex.from_path(job["folder"], model_path=job["model"])
indexed = cpu()
answers = [index.search(query, top_k=10, rerank=job["rerank"]) for query in job["queries"]]
done = cpu()
found = [[[one.chunk.file_path, one.chunk.start_line, one.chunk.end_line] for one in results] for results in answers]
json.dump({"index": indexed - start, "query": done - indexed, "chunks": len(index.chunks), "found": found}, sys.stdout)
"""


def run(python: str, script: str, job: dict[str, Any]) -> dict[str, Any]:
    """A system in a process of its own, with a home of its own, so that no cache answers."""
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home, "PATH": "/usr/bin:/bin"}
        env |= {"HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            [python, "-c", script],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            env=env,
            cwd=home,
            check=False,
        )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def ranks(questions: Sequence[Question], found: list[list[list[Any]]]) -> list[int]:
    """The rank of the first right passage for each question; 0: none."""

    def right(question: Question, one: list[Any]) -> bool:
        return one[0] == question.file and (not question.line or one[1] <= question.line <= one[2])

    return [
        next((rank for rank, one in enumerate(results[:DEPTH], 1) if right(question, one)), 0)
        for question, results in zip(questions, found, strict=True)
    ]


def ndcg(found: Sequence[int]) -> list[float]:
    return [1 / math.log2(rank + 1) if rank else 0.0 for rank in found]


def mrr(found: Sequence[int]) -> list[float]:
    return [1 / rank if rank else 0.0 for rank in found]


def mean(values: Sequence[float]) -> float:
    return round(sum(values) / max(1, len(values)), 4)


def measure(folder: Path, questions: list[Question], args: argparse.Namespace) -> dict[str, Any]:
    """Both systems over one folder."""
    job = {"folder": str(folder), "queries": [one.text for one in questions], "model": args.model, "dense": False}
    answers = {
        "watersmeet": run(sys.executable, OURS, job),
        "semble": run(args.semble, SEMBLE, job | {"rerank": True}),
        "semble_without_rerank": run(args.semble, SEMBLE, job | {"rerank": False}),
    }
    if args.dense:
        answers["watersmeet_dense"] = run(sys.executable, OURS, job | {"dense": True})
    row: dict[str, Any] = {"questions": len(questions)}
    for name, answer in answers.items():
        found = ranks(questions, answer["found"])
        files = ranks([one._replace(line=0) for one in questions], answer["found"])
        row[name] = {
            "ndcg@10": mean(ndcg(found)),
            "mrr@10": mean(mrr(found)),
            "index_cpu_s": round(answer["index"], 2),
            "query_cpu_ms": round(1000 * answer["query"] / max(1, len(questions)), 2),
            "chunks": answer["chunks"],
            "file_ndcg@10": mean(ndcg(files)),
            "ranks": found,
            "file_ranks": files,
        }
    return row


def cosqa(folder: Path, target: Path) -> list[Question]:
    """The corpus as one file for each function, named by its number, and its questions."""
    for line in (folder / "corpus.jsonl").read_text("utf8").splitlines():
        record = json.loads(line)
        (target / f"{record['_id']}.py").write_text(record["text"], "utf8")
    asked = {one["_id"]: one["text"] for one in map(json.loads, (folder / "queries.jsonl").open())}
    pairs = [line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    return [Question(asked[query], f"{document}.py", 0) for query, document, _ in pairs if query in asked]


def differences(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each form of ours against each of theirs."""
    names = [name for name in rows[0] if name != "questions"]
    return {
        f"{ours} - {theirs}": difference(rows, ours, theirs)
        for ours in names
        for theirs in names
        if ours.startswith("watersmeet") and theirs.startswith("semble")
    }


def difference(rows: Sequence[dict[str, Any]], ours: str, theirs: str) -> dict[str, Any]:
    """All questions together, paired."""
    pairs = [[rank for row in rows for rank in row[name]["ranks"]] for name in (ours, theirs)]
    files = [[rank for row in rows for rank in row[name]["file_ranks"]] for name in (ours, theirs)]
    return {
        "questions": len(pairs[0]),
        ours: {"ndcg@10": mean(ndcg(pairs[0])), "mrr@10": mean(mrr(pairs[0])), "file_ndcg@10": mean(ndcg(files[0]))},
        theirs: {
            "ndcg@10": mean(ndcg(pairs[1])),
            "mrr@10": mean(mrr(pairs[1])),
            "file_ndcg@10": mean(ndcg(files[1])),
        },
        "ndcg_difference": asdict(compare(ndcg(pairs[0]), ndcg(pairs[1]))),
        "mrr_difference": asdict(compare(mrr(pairs[0]), mrr(pairs[1]))),
        "file_ndcg_difference": asdict(compare(ndcg(files[0]), ndcg(files[1]))),
        "index_cpu_ratio": round(
            sum(row[ours]["index_cpu_s"] for row in rows) / sum(row[theirs]["index_cpu_s"] for row in rows), 2
        ),
        "query_cpu_ratio": round(
            sum(row[ours]["query_cpu_ms"] for row in rows) / sum(row[theirs]["query_cpu_ms"] for row in rows), 2
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--semble", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--cosqa", type=Path)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--no-keep", action="store_true")
    parser.add_argument("repositories", nargs="*", type=Path)
    args = parser.parse_args()
    result: dict[str, Any] = {"machine": machine(), "repositories": {}}
    for repository in args.repositories:
        with tempfile.TemporaryDirectory() as folder:
            questions = make(repository, Path(folder), args.questions)
            result["repositories"][repository.name] = measure(Path(folder), questions, args)
        print(repository.name, _short(result["repositories"][repository.name]), file=sys.stderr)
    if args.repositories:
        result["all"] = differences(list(result["repositories"].values()))
    if args.cosqa:
        with tempfile.TemporaryDirectory() as folder:
            result["cosqa"] = measure(Path(folder), cosqa(args.cosqa, Path(folder)), args)
        result["cosqa_all"] = differences([result["cosqa"]])
    for row in (*result["repositories"].values(), *filter(None, (result.get("cosqa"),))):
        for name in [name for name in row if name != "questions"]:
            del row[name]["ranks"], row[name]["file_ranks"]
    kept = keep("code_search", result, None) if args.no_keep else keep("code_search", result)
    print(json.dumps(kept, indent=1))


def _short(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value for key, value in figures.items() if not key.endswith("ranks")}
        if isinstance(figures, dict)
        else figures
        for name, figures in row.items()
    }


if __name__ == "__main__":
    main()
