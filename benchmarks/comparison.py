"""Comparison with programs that people use for the same job: index a folder, ask from a shell, and is the file right?

    python benchmarks/comparison.py [--qmd PATH/bin/qmd] [--txtai PATH/bin/python] [--data DIR] [--limit N]

The same folders and questions for all, in one run, with a home of their own. Questions are those of
comparison_questions.toml (the Rust book) and of sections/obsidian_help_en.toml; a file counts, whichever section it was
found by. A cold query is a new process, as from a shell: the first ten questions. What is not installed is left out.

ripgrep has no ranking. Its files are put in order by how many of the question's words of four letters and more they
have, then by matches: what a patient person could do with it. qmd and Grounded Docs fetch models from a hub, which is
not reachable here, so of qmd only `search` (BM25) is measured. txtai gets the sections of each file, once with words
alone, once with the encoder that watersmeet ships; it is a library, and answers all questions in one process after the
ten cold ones.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, WATERSMEET, Cost, Runner, keep, load, machine, size_mb

from watersmeet.evaluate.data import load as load_dataset

MARKDOWN = SHARED / "data" / "markdown"
QUESTIONS = {
    "rust_book": ROOT / "benchmarks" / "comparison_questions.toml",
    "obsidian_help_en": ROOT / "benchmarks" / "sections" / "obsidian_help_en.toml",
}
MODEL = ROOT / "models" / "granite-30m" / "src" / "watersmeet_granite_30m"
TXTAI = str(ROOT / "benchmarks" / "_txtai.py")
COLLECTION = "notes"
FILES, COLD = 5, 10
RESULTS_ASKED = 20
"""Sections that are asked for, so that five files are among them."""
GOOD = (0, 1)

Ask = Callable[[Runner, str], tuple[Cost, list[str]]]
AskAll = Callable[[Runner, Sequence[str]], list[list[str]]]


@dataclass(frozen=True)
class Program:
    """A program: its steps to index a folder (each a label and a command), and how it is asked."""

    name: str
    version: str
    steps: Sequence[tuple[str, Sequence[str]]]
    ask: Ask
    installed: Path | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    ask_all: AskAll | None = None
    """All questions in one process, where starting one takes seconds."""


def ours(folder: Path, words_only: bool) -> Program:
    def ask(run: Runner, question: str) -> tuple[Cost, list[str]]:
        cost = run(*WATERSMEET, "search", question, "--json", "-n", str(RESULTS_ASKED), good=GOOD)
        return cost, [result["document"] for result in json.loads(cost.out)["results"]]

    version = subprocess.run([*WATERSMEET, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    searchable = ("searchable", (*WATERSMEET, "sync", str(folder), "--no-deepen", "--quiet"))
    if words_only:
        off = {"WATERSMEET__INDEX__VECTORS": "false"}
        return Program("watersmeet, words alone", version, [searchable], ask, environ=off)
    return Program("watersmeet", version, [searchable, ("vectors", (*WATERSMEET, "deepen", "--quiet"))], ask)


def ripgrep(folder: Path) -> Program:
    def ask(run: Runner, question: str) -> tuple[Cost, list[str]]:
        words = {*re.findall(r"[\w!]{4,}", question.lower())} or {question}
        flags = [part for word in words for part in ("-e", word)]
        cost = run(
            "rg", "--only-matching", "--no-line-number", "--no-heading", "-i", "-F", *flags, str(folder), good=GOOD
        )
        matches: dict[str, Counter[str]] = {}
        for line in cost.out.splitlines():
            path, _, word = line.rpartition(":")
            matches.setdefault(os.path.relpath(path, folder), Counter())[word.lower()] += 1
        return cost, sorted(matches, key=lambda name: (-len(matches[name]), -matches[name].total(), name))

    version = subprocess.run(["rg", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return Program("ripgrep", version, [], ask, Path(shutil.which("rg") or "rg"))


def qmd(folder: Path, command: Path) -> Program:
    def ask(run: Runner, question: str) -> tuple[Cost, list[str]]:
        cost = run(str(command), "search", question, "--json", "-n", str(RESULTS_ASKED), good=GOOD)
        found = json.loads(cost.out) if cost.out.lstrip().startswith("[") else []
        return cost, [result["file"].removeprefix(f"qmd://{COLLECTION}/") for result in found]

    modules = command.parent.parent
    version = json.loads((modules / "@tobilu" / "qmd" / "package.json").read_text("utf8"))["version"]
    steps = [("searchable", (str(command), "collection", "add", str(folder), "--name", COLLECTION))]
    return Program("qmd, `search` (BM25)", version, steps, ask, modules)


def txtai(folder: Path, python: Path, hybrid: bool) -> Program:
    model = [str(MODEL)] if hybrid else []

    def ask(run: Runner, question: str) -> tuple[Cost, list[str]]:
        cost = run(str(python), TXTAI, "search", str(run.home / "index"), question, *model, good=(0,))
        return cost, cost.out.splitlines()

    def ask_all(run: Runner, questions: Sequence[str]) -> list[list[str]]:
        cost = run(str(python), TXTAI, "search", str(run.home / "index"), "\n".join(questions), *model, good=(0,))
        return [answer.splitlines() for answer in cost.out.split("\n\n")]

    version = subprocess.run(
        [python, "-c", "from importlib.metadata import version; print(version('txtai'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    index = (str(python), TXTAI, "index", str(folder), "index", *model)
    name = "txtai, hybrid with granite-30m" if hybrid else "txtai, BM25"
    steps = [("vectors" if hybrid else "searchable", index)]
    return Program(name, version, steps, ask, python.parent.parent, ask_all=ask_all)


def plain(name: str) -> str:
    """A file name as all programs give it: qmd writes hyphens for what is no letter or digit, in lower case."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().removesuffix(".md")).strip("-")


def measure(program: Program, questions: Sequence[tuple[str, set[str]]], home: Path) -> dict[str, Any]:
    home.mkdir(parents=True)
    run = Runner(home, program.environ)
    steps = {label: run(*command, good=(0,)) for label, command in program.steps}
    on_disk = size_mb(home)
    texts = [question for question, _ in questions]
    costs, answers = [], []
    for question in texts[: COLD if program.ask_all else None]:
        cost, found = program.ask(run, question)
        costs.append(cost)
        answers.append(found)
    if program.ask_all:
        answers = program.ask_all(run, texts)
    ranks = []
    for (_, files), found in zip(questions, answers, strict=True):
        names = list(dict.fromkeys(plain(name) for name in found))[:FILES]
        ranks.append(next((at for at, name in enumerate(names, 1) if name in files), 0))
    return {
        "version": program.version,
        "index_seconds": {label: round(cost.wall, 2) for label, cost in steps.items()},
        "index_cpu_seconds": {label: round(cost.cpu, 2) for label, cost in steps.items()},
        "index_peak_mb": round(max((cost.peak for cost in steps.values()), default=0)),
        "index_mb": on_disk,
        "cold_ms": round(1000 * statistics.median(cost.wall for cost in costs[:COLD])),
        "cold_cpu_ms": round(1000 * statistics.median(cost.cpu for cost in costs[:COLD])),
        "query_peak_mb": round(max(cost.peak for cost in costs)),
        "hit@1": round(sum(rank == 1 for rank in ranks) / len(ranks), 3),
        "hit@5": round(sum(rank > 0 for rank in ranks) / len(ranks), 3),
        "ranks": ranks,
    }


def programs(folder: Path, args: argparse.Namespace) -> list[Program]:
    found = [ours(folder, words_only=False), ours(folder, words_only=True)]
    found += [ripgrep(folder)] if shutil.which("rg") else []
    found += [qmd(folder, args.qmd)] if args.qmd else []
    found += [txtai(folder, args.txtai, hybrid) for hybrid in (False, True)] if args.txtai else []
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--qmd", type=Path, help="the command qmd, installed with npm; its node must be on the PATH")
    parser.add_argument("--txtai", type=Path, help="the interpreter of an environment with txtai and onnxruntime")
    parser.add_argument("--data", type=Path, default=MARKDOWN, help="the folder with the folders that are searched")
    parser.add_argument("--limit", type=int, help="only so many questions of each set; nothing is kept")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    before, sets, sizes = machine(), {}, {}
    with tempfile.TemporaryDirectory() as place:
        for name, path in QUESTIONS.items():
            folder = args.data / name
            asked = [
                (q.text, {plain(each.partition("#")[0]) for each in q.relevant}) for q in load_dataset(path).questions
            ]
            asked = asked[: args.limit]
            entries: dict[str, Any] = {}
            for number, program in enumerate(programs(folder, args)):
                entries[program.name] = measure(program, asked, Path(place) / name / str(number))
                shown = {key: value for key, value in entries[program.name].items() if key != "ranks"}
                print(name, program.name, json.dumps(shown), file=sys.stderr)
                if program.installed:
                    sizes[program.name] = round(_installed(program.installed))
            files = len([*folder.rglob("*.md")])
            sets[name] = {"files": files, "questions": len(asked), "programs": entries}
    before["load_after"] = load()
    result = {"machine": before, "installed_mb": sizes, "sets": sets}
    print(json.dumps(keep("comparison", result, None if args.limit else args.out), indent=1))


def _installed(path: Path) -> float:
    return path.stat().st_size / 1e6 if path.is_file() else size_mb(path)


if __name__ == "__main__":
    main()
