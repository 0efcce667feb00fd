"""How good are the answers? Every dev set, every recipe, beside a plain BM25: one command, one table.

    python benchmarks/quality.py [--sets scifact_train,cosqa] [--recipes default] [--out benchmarks/results]

Needs the datasets (../shared/data/eval, or --data) and, for the reference columns, bm25s and PyStemmer.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from watersmeet.core.tokens import STOPWORDS
from watersmeet.engine.settings import Settings, load
from watersmeet.evaluate.data import Dataset
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.evaluation import evaluate, to_json
from watersmeet.evaluate.metrics import MAIN, RANKED, judge, means

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "eval"
PLAIN = {
    "pipeline": {"signals": ["lexical"]},
    "signal": {"lexical": {"title": 0.0, "headings": 0.0, "names": 0.0, "tags": 0.0}},
}
"""Lexical alone with the bonuses at 0: what should equal a plain BM25."""
K1, B, DEEP = 1.2, 0.75, 100


def settings(recipe: str, flags: dict[str, Any] | None = None) -> Settings:
    """Without the user's own settings, so that the figures are the package's."""
    return load(recipe=recipe, environ={}, start=str(ROOT), flags=flags)


def reference(dataset: Dataset) -> dict[str, float] | None:
    """bm25s over whole records with the same stems and stop words; None if it is not installed."""
    try:
        bm25s = importlib.import_module("bm25s")
        stemming = importlib.import_module("Stemmer")
    except ImportError:
        return None
    assert dataset.corpus is not None
    lines = [line for line in dataset.corpus.read_text("utf8").split("\n") if line.strip()]
    records = [json.loads(line) for line in lines]
    stemmer = stemming.Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords=sorted(STOPWORDS), stemmer=stemmer, show_progress=False)

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(tokens([f"{r.get('title') or ''} {r.get('text') or ''}" for r in records]), show_progress=False)
    asked = tokens([question.text for question in dataset.questions])
    found, scores = index.retrieve(asked, k=min(DEEP, len(records)), show_progress=False)
    rankings = [
        [str(records[number]["_id"]) for number, score in zip(row, values, strict=True) if score > 0]
        for row, values in zip(found, scores, strict=True)
    ]
    return means(judge(dataset.questions, rankings))


def measure(dataset: Dataset, recipes: list[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"recipes": {}}
    for recipe in recipes:
        report = to_json(evaluate(dataset, settings(recipe)))
        entry |= {"documents": report["documents"], "queries": report["queries"]}
        entry["recipes"][recipe] = {
            "mode": report["mode"],
            **report["metrics"],
            "latency_ms": report["latency_ms"],
            "signals": {name: metrics[MAIN] for name, metrics in report["signals"].items()},
            "classes": {name: metrics[MAIN] for name, metrics in report["classes"].items() if ":" not in name},
            "failures": report["failures"],
        }
    plain = to_json(evaluate(dataset, settings("default", PLAIN), mode="lexical"))
    entry["plain_lexical"] = {name: plain["metrics"][name] for name in RANKED}
    entry["bm25s"] = reference(dataset)
    return entry


def mean(sets: dict[str, Any], pick: Any) -> float | None:
    values = [value for entry in sets.values() if (value := pick(entry)) is not None]
    return round(sum(values) / len(values), 4) if len(values) == len(sets) else None


def columns(recipes: list[str], sets: dict[str, Any]) -> list[tuple[str, Any]]:
    """The table's columns: a heading, and how to get its value from a set's entry."""
    found: list[tuple[str, Any]] = []
    for recipe in recipes:
        for name in RANKED:
            found.append((f"{recipe} {name}", lambda e, r=recipe, n=name: e["recipes"][r][n]))
        found.append((f"{recipe} p50 ms", lambda e, r=recipe: e["recipes"][r]["latency_ms"]["p50"]))
        signals = {signal: None for entry in sets.values() for signal in entry["recipes"][recipe]["signals"]}
        for signal in signals:
            found.append((f"{signal} alone", lambda e, r=recipe, s=signal: e["recipes"][r]["signals"].get(s)))
    found.append(("lexical, no bonuses", lambda e: e["plain_lexical"][MAIN]))
    found.append(("bm25s", lambda e: e["bm25s"] and e["bm25s"][MAIN]))
    return found


def markdown(result: dict[str, Any]) -> str:
    sets, recipes = result["sets"], result["recipes"]
    chosen = columns(recipes, sets)
    lines = [
        f"# Quality at {result['commit']}",
        "",
        f"{result['date']}, {result['machine']}. A signal alone, without bonuses and bm25s (k1 {K1}, b {B}, the same "
        "stems and stop words, whole records): nDCG@10.",
        "",
        "| set | documents | queries | " + " | ".join(name for name, _ in chosen) + " |",
        "|---|" + "--:|" * (len(chosen) + 2),
    ]
    for name, entry in sets.items():
        cells = " | ".join(_number(head, pick(entry)) for head, pick in chosen)
        lines.append(f"| {name} | {entry['documents']} | {entry['queries']} | {cells} |")
    cells = " | ".join(_number(head, mean(sets, pick)) for head, pick in chosen)
    lines.append(f"| **mean of {len(sets)}** | | | {cells} |")
    return "\n".join(lines) + "\n"


def _number(head: str, value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}" if head.endswith("ms") else f"{value:.3f}"


def commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "unknown") + (
        "-dirty" if git("status", "--porcelain", "src") else ""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="", help="names, separated by commas; all that have judgements by default")
    parser.add_argument("--recipes", default="default")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--limit", type=int, default=0, help="only so many queries of each set")
    asked = parser.parse_args()
    names = [n for n in asked.sets.split(",") if n] or sorted(p.parent.name for p in asked.data.glob("*/qrels.tsv"))
    if not names:
        sys.exit(f"no datasets in {asked.data}")
    recipes = asked.recipes.split(",")
    sets: dict[str, Any] = {}
    for name in names:
        start = time.perf_counter()
        sets[name] = measure(load_dataset(asked.data / name).limited(asked.limit, 0), recipes)
        shown = ", ".join(f"{r} {sets[name]['recipes'][r][MAIN]:.3f}" for r in recipes)
        print(f"{name}: {shown} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)
    result = {
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "recipes": recipes,
        "limit": asked.limit,
        "sets": sets,
        "mean": {head: mean(sets, pick) for head, pick in columns(recipes, sets)},
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    place = asked.out / f"quality-{result['commit']}"
    place.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", "utf8")
    text = markdown(result)
    place.with_suffix(".md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
