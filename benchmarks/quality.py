"""Retrieval quality: every dev set and recipe, beside a plain BM25, in one table.

    python benchmarks/quality.py [--sets scifact_train,cosqa] [--recipes default] [--out benchmarks/results]

Needs the datasets (../shared/data/eval, or --data) and, for the reference columns, bm25s and PyStemmer.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, keep, load, machine

from watersmeet.core import tokens
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.settings.settings import load as load_settings
from watersmeet.evaluate.data import Dataset
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.evaluation import evaluate, to_json
from watersmeet.evaluate.metrics import MAIN, RANKED, judge, means

DATA = SHARED / "data" / "eval"
PLAIN = {
    "pipeline": {"signals": ["lexical"]},
    "signal": {"lexical": {"title": 0.0, "headings": 0.0, "names": 0.0, "tags": 0.0}},
}
"""Lexical alone with the bonuses at 0: what should equal a plain BM25."""
K1, B, DEEP = 1.2, 0.75, 100
_THEIRS = re.compile(r"\b\w\w+\b")
"""What bm25s takes for a word by default."""


def settings(recipe: str, flags: dict[str, Any] | None = None) -> Settings:
    """Without the user's own settings, so that the figures are the package's."""
    return load_settings(recipe=recipe, environ={}, start=str(ROOT), flags=flags)


def reference(dataset: Dataset, ours: bool) -> dict[str, float] | None:
    """bm25s over whole records with the same stems and stop words; None if it is not installed.

    `ours`: with our words too, so that what remains is the difference between the engines.
    """
    try:
        bm25s = importlib.import_module("bm25s")
        stem = importlib.import_module("Stemmer").Stemmer("english").stemWords
    except ImportError:
        return None
    assert dataset.corpus is not None
    lines = [line for line in dataset.corpus.read_text("utf8").split("\n") if line.strip()]
    records = [json.loads(line) for line in lines]

    def split(text: str, left_out: frozenset[str]) -> list[str]:
        found = tokens.words(text) if ours else _THEIRS.findall(text.lower())
        return list(stem([word for word in found if word not in left_out]))

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    texts = [f"{r.get('title') or ''} {r.get('text') or ''}" for r in records]
    index.index([split(text, tokens.STOPWORDS) for text in texts], show_progress=False)
    vocabulary = index.vocab_dict
    rankings: list[list[str]] = []
    for question in dataset.questions:
        words = split(question.text, tokens.QUESTION_WORDS if ours else tokens.STOPWORDS) or split(
            question.text, frozenset()
        )
        indexed_words = [word for word in (dict.fromkeys(words) if ours else words) if word in vocabulary]
        if not indexed_words:
            rankings.append([])
            continue
        found, scores = index.retrieve([indexed_words], k=min(DEEP, len(records)), show_progress=False)
        rankings.append([str(records[n]["_id"]) for n, s in zip(found[0], scores[0], strict=True) if s > 0])
    return means(judge(dataset.questions, rankings))


def measure(dataset: Dataset, recipes: list[str], mode: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"recipes": {}}
    for recipe in recipes:
        report = to_json(evaluate(dataset, settings(recipe), mode=mode))
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
    entry["bm25s"] = reference(dataset, ours=False)
    entry["bm25s_our_words"] = reference(dataset, ours=True)
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
    for name, key in (("bm25s, our words", "bm25s_our_words"), ("bm25s", "bm25s")):
        found.append((name, lambda e, k=key: e[k] and e[k][MAIN]))
    return found


def markdown(result: dict[str, Any]) -> str:
    sets, recipes = result["sets"], result["recipes"]
    chosen = columns(recipes, sets)
    lines = [
        f"# Quality at {result['commit']}",
        "",
        f"{result['date']}, {result['machine']['system']}. A signal alone, without bonuses and bm25s "
        f"(k1 {K1}, b {B}, the same stems and stop words, whole records): nDCG@10.",
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="", help="names, separated by commas; all that have judgements by default")
    parser.add_argument("--recipes", default="default")
    parser.add_argument("--mode", default="", help="lexical needs no vectors; by default all available signals")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--limit", type=int, default=0, help="only so many queries of each set")
    args = parser.parse_args()
    names = [n for n in args.sets.split(",") if n] or sorted(p.parent.name for p in args.data.glob("*/qrels.tsv"))
    if not names:
        sys.exit(f"no datasets in {args.data}")
    recipes = args.recipes.split(",")
    facts = machine()
    sets: dict[str, Any] = {}
    for name in names:
        start = time.perf_counter()
        sets[name] = measure(load_dataset(args.data / name).limited(args.limit, 0), recipes, args.mode)
        shown = ", ".join(f"{r} {sets[name]['recipes'][r][MAIN]:.3f}" for r in recipes)
        print(f"{name}: {shown} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)
    facts["load_after"] = load()
    figures = {
        "machine": facts,
        "recipes": recipes,
        "mode": args.mode,
        "limit": args.limit,
        "sets": sets,
        "mean": {head: mean(sets, pick) for head, pick in columns(recipes, sets)},
    }
    result = keep("quality", figures, args.out)
    place = args.out / f"quality-{result['commit']}"
    text = markdown(result)
    place.with_suffix(".md").write_text(text, "utf8")
    print(text)


if __name__ == "__main__":
    main()
