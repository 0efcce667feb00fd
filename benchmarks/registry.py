"""Registry: speed of registration and search, and quality of tool search.

    python benchmarks/registry.py [--parts register,tools,examples] [--sets metatool] [--limit 200]

`register`: three public lists of servers and skills, registered from nothing with static vectors, then searched.
`tools`: seven sets of tools and tasks; `default` beside RRF (k = 60) over lexical and dense, and the best signal.
`examples`: what up to two example queries a tool add; no query that was taken as an example is asked.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, WATERSMEET, Runner, keep, machine, percentiles
from quality import settings
from recipes import default_beside, figures

from watersmeet.core.entities import Entity, Tool
from watersmeet.core.model import Request
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.engine import Engine
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.evaluate.compare import compare
from watersmeet.evaluate.data import Dataset, Question, load
from watersmeet.evaluate.metrics import MAIN

DATA = SHARED / "data" / "eval"
LISTS = ("registry_awesome_mcp", "registry_docker_mcp", "registry_skills")
SETS = (
    "metatool",
    "toollens_train1k",
    "ultratool_en_test",
    "sealtools",
    "apibench_hf",
    "mcpbench_servers",
    "bfcl_functions",
)
QUICK = {"index": {"dense": "", "sparse": ""}}
QUERIES = 200
EXAMPLES = 2


# ---------------------------------------------------------------- registering


def registering(data: Path) -> dict[str, Any]:
    """CPU seconds from nothing, in a home without any cache; what a search takes afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "index"
        home = Path(scratch) / "home"
        home.mkdir()
        run = Runner(home, {"WATERSMEET__INDEX__DENSE": '""', "WATERSMEET__INDEX__SPARSE": '""'})
        lists: dict[str, Any] = {}
        for name in LISTS:
            corpus = str(data / name / "corpus.jsonl")
            cost = run(*WATERSMEET, "register", corpus, "--index", str(folder), "--json", "--quiet")
            report = json.loads(cost.out)
            lists[name] = {"cpu_s": round(cost.cpu, 2), "registered": report["registered"], "tools": report["tools"]}
        queries = _queries(data)
        with Engine(folder, settings("default", QUICK)) as engine:
            took = {
                "search": _timed(lambda query: engine.search(Request(query, viewer=EVERYONE)), queries),
                "grouped, default": _searched(engine, queries, "", ""),
                "grouped, registry": _searched(engine, queries, "registry", ""),
                "grouped, lexical-only": _searched(engine, queries, "", "lexical"),
                "find-tools": _timed(
                    lambda query: engine.registry.find_tools(query, viewer=EVERYONE).to_json(), queries
                ),
            }
            kinds = engine.status()["kinds"]
    return {
        "lists": lists,
        "cpu_s": round(sum(made["cpu_s"] for made in lists.values()), 2),
        "kinds": kinds,
        "ms": took,
    }


def _queries(data: Path) -> list[str]:
    """Typical queries: a name, or the first words of a description."""
    chance = random.Random(0)  # noqa: S311 - a sample
    records = [json.loads(line) for name in LISTS for line in (data / name / "corpus.jsonl").open(encoding="utf8")]
    questions = []
    for record in chance.sample(records, QUERIES):
        words = record["text"].split()[: chance.randint(2, 8)]
        questions.append(" ".join(words) if words and chance.random() < 0.5 else record["title"])
    return questions


def _searched(engine: Engine, queries: Sequence[str], recipe: str, mode: str) -> dict[str, float]:
    def ask(query: str) -> None:
        engine.registry.search(EntityRequest(query, recipe=recipe, mode=mode, viewer=EVERYONE)).to_json()

    return _timed(ask, queries)


def _timed(search: Any, queries: Sequence[str]) -> dict[str, float]:
    search(queries[0])
    took = []
    for query in queries:
        start = time.perf_counter()
        search(query)
        took.append((time.perf_counter() - start) * 1000)
    return percentiles(took)


# ---------------------------------------------------------------- tools


# ---------------------------------------------------------------- examples


def with_examples(dataset: Dataset, limit: int) -> dict[str, Any]:
    """The same questions to the same tools, registered with and without examples."""
    taken, left = _split(dataset.questions)
    questions = replace(dataset, questions=left).limited(limit, 0).questions
    assert dataset.corpus is not None
    records = [json.loads(line) for line in dataset.corpus.open(encoding="utf8")]
    without = _find_tools_scores(records, {}, questions)
    helped = _find_tools_scores(records, taken, questions)
    gain = compare(helped, without)
    return {
        "queries": len(questions),
        "examples": sum(map(len, taken.values())),
        "without": figures(without),
        "with": figures(helped),
        "gain": {"delta": round(gain.delta, 4), "low": round(gain.low, 4), "high": round(gain.high, 4)},
    }


def _split(questions: Sequence[Question]) -> tuple[dict[str, list[str]], list[Question]]:
    """Up to two queries a tool that are about it alone become examples; the others are asked."""
    order = list(questions)
    random.Random(0).shuffle(order)  # noqa: S311 - a sample
    taken: dict[str, list[str]] = {}
    used = set()
    for question in order:
        tool = next(iter(question.relevant))
        if len(question.relevant) == 1 and len(taken.setdefault(tool, [])) < EXAMPLES:
            taken[tool].append(question.text)
            used.add(question.id)
    return taken, [question for question in questions if question.id not in used]


def _find_tools_scores(
    records: Sequence[dict[str, Any]], examples: dict[str, list[str]], questions: Sequence[Question]
) -> list[float]:
    """nDCG@10 of `find-tools` for each question, with one server for each tool."""
    with tempfile.TemporaryDirectory() as scratch, Engine(Path(scratch) / "index", settings("default")) as engine:
        servers = [
            Entity("mcp_server", record["_id"], record["title"], tools=(_tool(record, examples),)) for record in records
        ]
        engine.registry.put(*servers)
        return [_ndcg(engine.registry.find_tools(question.text).to_json(), question) for question in questions]


def _tool(record: dict[str, Any], examples: dict[str, list[str]]) -> Tool:
    return Tool(record["title"], record["text"], examples=tuple(examples.get(record["_id"], ())))


def _ndcg(answer: dict[str, Any], question: Question) -> float:
    gains = [question.relevant.get(tool["server_path"], 0) for tool in answer["tools"]]
    ideal = sorted(question.relevant.values(), reverse=True)[:10]
    return _discounted(gains) / _discounted(ideal)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


# ---------------------------------------------------------------- the report


def markdown(result: dict[str, Any]) -> str:
    lines = [f"# Registry at {result['commit']}", "", f"{result['date']}.", ""]
    if "register" in result:
        lines += _registered(result["register"])
    if "sets" in result:
        lines += _tools(result["sets"])
    if "examples" in result:
        examples = result["examples"]
        gain = examples["gain"]
        lines += [
            f"Examples: metatool, {examples['queries']} queries, {examples['examples']} others as examples: nDCG@10"
            f" {examples['without'][MAIN]:.3f} without, {examples['with'][MAIN]:.3f} with"
            f" ({gain['delta']:+.3f}, {gain['low']:+.3f} to {gain['high']:+.3f}; at least +.030 is wanted).",
            "",
        ]
    return "\n".join(lines)


def _registered(explain: dict[str, Any]) -> list[str]:
    lines = ["| list | registered | tools | CPU s |", "|---|--:|--:|--:|"]
    for name, made in explain["lists"].items():
        lines.append(f"| {name} | {made['registered']} | {made['tools']} | {made['cpu_s']:.1f} |")
    lines += [f"| all (under 20 is wanted) | | | {explain['cpu_s']:.1f} |", ""]
    lines += ["| search | p50 ms (under 10 is wanted) | p95 ms |", "|---|--:|--:|"]
    lines += [f"| {name} | {took['p50']:.1f} | {took['p95']:.1f} |" for name, took in explain["ms"].items()]
    return [*lines, "", "`status` counts " + ", ".join(f"{n} {kind}" for kind, n in explain["kinds"].items()) + ".", ""]


def _tools(sets: dict[str, Any]) -> list[str]:
    lines = [
        "nDCG@10; in brackets by how much `default` is better, with the 95 % interval of the paired difference.",
        "",
        "| set | queries | default | RRF k=60 | best signal | |",
        "|---|--:|---|---|---|---|",
    ]
    for name, entry in sets.items():
        own, rrf, best = entry["default"], entry["rrf60"], entry["best signal"]
        cells = [f"{own[MAIN]:.3f} ({own['low']:.3f} to {own['high']:.3f})"]
        for other in (rrf, best):
            delta = f"{other['delta']:+.3f}, {other['delta_low']:+.3f} to {other['delta_high']:+.3f}"
            cells.append(f"{other.get('signal', '')} {other[MAIN]:.3f} ({delta})".strip())
        cells.append(", ".join(wanting(name, entry)))
        lines.append(f"| {name} | {entry['queries']} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def wanting(name: str, entry: dict[str, Any]) -> list[str]:
    """In what a set falls short of what is wanted."""
    short = []
    if entry["rrf60"]["delta_high"] < 0:
        short.append("below RRF")
    if entry["best signal"]["delta"] < -0.02:
        short.append("below its best signal")
    if name == "metatool" and entry["default"][MAIN] < 0.7:
        short.append("below .70")
    return short


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--parts", default="register,tools,examples")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--limit", type=int, default=0, help="only so many queries of each set")
    args = parser.parse_args()
    parts = args.parts.split(",")
    result: dict[str, Any] = {"machine": machine(), "limit": args.limit}
    if "register" in parts:
        result["register"] = registering(args.data)
    if "tools" in parts:
        result["sets"] = {}
        for name in args.sets.split(","):
            start = time.perf_counter()
            result["sets"][name], _ = default_beside(load(args.data / name).limited(args.limit, 0))
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    if "examples" in parts:
        result["examples"] = with_examples(load(args.data / "metatool"), args.limit)
    kept = keep("registry", result, args.out)
    text = markdown(kept)
    (args.out / f"registry-{kept['commit']}.md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
