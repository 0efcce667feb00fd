"""Confidence in small folders: does it flag queries without an answer? A few random documents of each set.

    python benchmarks/few.py [--sizes 4,8,16,32,64] [--draws 3]

Asked are queries that one of the documents answers, queries of other sets, and queries of the same set that none of
these documents answers, which is the hardest. The models are the shipped ones: nothing is chosen here.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, SHARED, keep, machine
from confidence import MODES
from quality import settings

from watersmeet.core.model import Request
from watersmeet.engine.engine import Engine
from watersmeet.evaluate.data import Dataset, Question, load

DATA = SHARED / "data" / "eval"
OWN, OTHERS = 6, 24
KINDS = {"right": "answered, and flagged", "foreign": "other sets', flagged", "missing": "same set's, flagged"}
Flags = dict[tuple[str, int, str], list[bool]]


def few(
    corpus: list[dict[str, Any]], questions_asked: list[Question], size: int, draw: random.Random
) -> list[dict[str, Any]]:
    """`size` documents, with one that answers each of these questions."""
    by = {str(record["_id"]): record for record in corpus}
    wanted = [draw.choice([d for d in question.relevant if d in by]) for question in questions_asked]
    others = [str(record["_id"]) for record in draw.sample(corpus, min(len(corpus), 2 * size))]
    return [by[name] for name in list(dict.fromkeys([*wanted, *others]))[:size]]


def measure(folder: Path, size: int, questions: dict[str, list[tuple[str, set[str]]]], flags: Flags) -> None:
    with Engine(folder / "index", settings("default")) as engine:
        engine.sync([folder / "corpus.jsonl"])
    for model, (mode, changed) in MODES.items():
        with Engine(folder / "index", settings("default", changed)) as engine:
            for kind, texts in questions.items():
                for text, relevant in texts:
                    answer = engine.search(Request(text, mode, top_n=3))
                    if kind == "right" and not any(result.document in relevant for result in answer.results):
                        continue  # whether that is flagged is another question
                    flags[model, size, kind].append(answer.no_good_match)


def collect(dataset: Dataset, others: list[Dataset], sizes: list[int], draws: int, flags: Flags) -> None:
    corpus = [json.loads(line) for line in (DATA / dataset.name / "corpus.jsonl").open(encoding="utf8")]
    document_ids = {str(record["_id"]) for record in corpus}
    questions = [question for question in dataset.questions if document_ids.intersection(question.relevant)]
    draw = random.Random(dataset.name)  # noqa: S311 - a sample
    foreign = [question.text for other in others for question in other.questions]
    for size in sizes:
        for _ in range(draws):
            own = draw.sample(questions, min(len(questions), size, OWN))
            records = few(corpus, own, size, draw)
            have = {str(record["_id"]) for record in records}
            missing = [q for q in draw.sample(questions, min(len(questions), 4 * OWN)) if have.isdisjoint(q.relevant)]
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                lines = (json.dumps(record) + "\n" for record in records)
                (folder / "corpus.jsonl").write_text("".join(lines), "utf8")
                questions_asked: dict[str, list[tuple[str, set[str]]]] = {
                    "right": [(question.text, set(question.relevant)) for question in own],
                    "foreign": [(text, set()) for text in draw.sample(foreign, OTHERS)],
                    "missing": [(question.text, set()) for question in missing[:OWN]],
                }
                measure(folder, size, questions_asked, flags)


def markdown(result: dict[str, Any]) -> str:
    lines = [f"# Confidence in a few documents at {result['commit']}", "", f"{result['date']}. {result['note']}", ""]
    for model, sizes in result["models"].items():
        lines += [f"## {model}", "", f"| documents | {' | '.join(KINDS.values())} |", "|--:|" + "--:|" * len(KINDS)]
        for size, row in sizes.items():
            cells = (f"{row[kind]['flagged']:.2f} of {row[kind]['queries']}" for kind in KINDS)
            lines.append(f"| {size} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="4,8,16,32,64")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    names = sorted(path.parent.name for path in DATA.glob("*/qrels.tsv"))
    data = {name: load(DATA / name) for name in names}
    sizes = [int(size) for size in arguments.sizes.split(",")]
    flags: Flags = defaultdict(list)
    for name in names:
        collect(data[name], [data[other] for other in names if other != name], sizes, arguments.draws, flags)
        print(name, file=sys.stderr, flush=True)
    models: dict[str, Any] = defaultdict(lambda: defaultdict(dict))
    for (model, size, kind), flagged in flags.items():
        models[model][str(size)][kind] = {"flagged": float(np.mean(flagged)), "queries": len(flagged)}
    note = f"{arguments.draws} draws of each size from each of {len(names)} sets."
    result = keep("few", {"machine": machine(), "note": note, "models": models}, arguments.out)
    text = markdown(result)
    (arguments.out / f"few-{result['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
