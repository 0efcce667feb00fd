"""A mixed repository (code, docs, data, PDF, Office): what a first sync costs, and one after which nothing changed.

    python benchmarks/mixed.py FOLDER [--out DIR]

Words, identifiers and static vectors (`--no-deepen`). CPU includes the child process that reads isolated formats.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from _common import RESULTS, WATERSMEET, Runner, keep, machine

QUERIES = ("how are migrations applied", "parse arguments from the command line", "open a database connection")
TRIES = 3


def measured(folder: Path, home: Path) -> dict[str, Any]:
    run = Runner(home)
    sync = [*WATERSMEET, "sync", str(folder), "--index", "index", "--no-deepen", "--json"]
    first = run(*sync, good=(0,))
    report = json.loads(first.out)
    again = [run(*sync, good=(0,)) for _ in range(TRIES)]
    size = sum(path.stat().st_size for path in (home / "index").rglob("*") if path.is_file())
    found = {}
    for query in QUERIES:
        answer = json.loads(run(*WATERSMEET, "search", query, "--index", "index", "--json", "--top-n", "3").out)
        found[query] = [result["document"] + result["where"] for result in answer["results"]]
    listed = json.loads(run(*WATERSMEET, "list", "--index", "index", "--json").out)["documents"]
    return {
        "documents": report["documents"],
        "chunks": report["chunks"],
        "skipped": Counter(item["reason"] for item in report["skipped"]).most_common(8),
        "warnings": len(report["warnings"]),
        "endings": Counter(Path(one["document"]).suffix for one in listed).most_common(16),
        "cpu_s": round(first.cpu, 1),
        "s": round(first.wall, 1),
        "peak_mb": round(first.peak),
        "again_cpu_s": round(min(one.cpu for one in again), 2),
        "again_s": round(min(one.wall for one in again), 2),
        "index_mb": round(size / 1e6, 1),
        "found": found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        figures = measured(args.folder.resolve(), Path(home))
    result = keep("mixed", {"machine": machine(), "folder": args.folder.name, **figures}, args.out)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
