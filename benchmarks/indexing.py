"""CPU seconds of indexing, beside an earlier state of the source, and bytes a chunk.

    git worktree add ../before COMMIT
    python benchmarks/indexing.py --before ../before [--words 5] [--static 2] [--data FOLDER]

Whole commands, in turns: words and identifiers (`sync --no-vectors`), then static vectors in an index that has the
words, without the cache of vectors. Rows of both catalogues are compared: a saving that changes them is none.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import statistics
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from _common import ROOT, SHARED, WATERSMEET, Runner, commit, keep, load, machine

from watersmeet.store.local._stored_text import plain_text

DATA = SHARED / "data" / "markdown" / "kubernetes_en"
TABLES = ("chunks", "documents", "names", "facets", "links")
STATIC_ONLY = {"WATERSMEET__INDEX__DENSE": "", "WATERSMEET__INDEX__SPARSE": ""}


def rows(index: Path) -> dict[str, list[str]]:
    """The rows of the catalogue; texts are compared as what they say, stored compressed or not."""
    with closing(sqlite3.connect(index / "catalogue.db")) as db:
        return {
            table: sorted(
                repr([plain_text(value) if isinstance(value, bytes) else str(value).encode() for value in row])
                for row in db.execute(f"SELECT * FROM {table}")
            )
            for table in TABLES
        }


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def spent(values: list[float], chunks: int) -> dict[str, Any]:
    median = statistics.median(values)
    return {
        "cpu_s": [round(value, 2) for value in values],
        "least": round(min(values), 2),
        "median": round(median, 2),
        "median_per_1000_chunks": round(1000 * median / chunks, 3),
    }


def measure(trees: Mapping[str, Path], data: Path, words: int, static: int, place: Path) -> dict[str, Any]:
    homes = {name: place / name for name in trees}
    run = {}
    for name, tree in trees.items():
        homes[name].mkdir()
        run[name] = Runner(homes[name], {"PYTHONPATH": str(tree / "src"), **STATIC_ONLY})
    took: dict[str, dict[str, list[float]]] = {name: {"words": [], "static": []} for name in trees}
    index = {name: homes[name] / "index" for name in trees}
    for turn in range(words + 1):  # the first compiles the source
        for name in trees:
            shutil.rmtree(index[name], ignore_errors=True)
            cost = run[name](*WATERSMEET, "sync", str(data), "--no-vectors", "--index", str(index[name]), "-q")
            took[name]["words"] += [cost.cpu] if turn else []
    found = [rows(index[name]) for name in trees]
    chunks, parts = len(found[0]["chunks"]), dict[str, dict[str, int]]()
    for _ in range(static):
        for name in trees:
            shutil.rmtree(homes[name] / "cache", ignore_errors=True)
            shutil.copytree(index[name], homes[name] / "again")
            cost = run[name](*WATERSMEET, "sync", "--index", str(homes[name] / "again"), "-q")
            took[name]["static"].append(cost.cpu)
            status = json.loads(
                run[name](*WATERSMEET, "status", "--json", "--index", str(homes[name] / "again"), good=(0,)).out
            )
            parts[name] = status.get("bytes_per_chunk", {})  # earlier states do not say it
            parts[name]["in all"] = round(sum(path.stat().st_size for path in files(homes[name] / "again")) / chunks)
            shutil.rmtree(homes[name] / "again")
    return {
        "chunks": chunks,
        "same_rows": all(one == found[0] for one in found),
        "load_after": load(),
        **{
            name: {
                "words": spent(took[name]["words"], chunks),
                **({"static": spent(took[name]["static"], chunks)} if static else {}),
                "bytes_per_chunk": parts.get(name, {}),
            }
            for name in trees
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--now", type=Path, default=ROOT)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--words", type=int, default=5)
    parser.add_argument("--static", type=int, default=2)
    args = parser.parse_args()
    about = {"machine": machine(), "data": args.data.name, "measured": commit()}
    with tempfile.TemporaryDirectory() as folder:
        trees = {"before": args.before.resolve(), "now": args.now.resolve()}
        figures = measure(trees, args.data.resolve(), args.words, args.static, Path(folder))
    print(json.dumps(keep("indexing", {**about, **figures}), indent=1))


if __name__ == "__main__":
    main()
