"""The history of a repository: how quickly commits are indexed, what a sync without new ones takes, what is found.

    python benchmarks/git_history.py REPOSITORY [--commits 10000] [--runs 2] [--save FOLDER|none]

Each run is `watersmeet sync REPOSITORY --history --no-vectors` into an empty index, then the same once more. CPU
seconds are those of all processes, git's included; git alone is measured beside. The questions are about the history of
Django, each with the commit that answers it, and are asked of words only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, WATERSMEET, Runner, keep, load, machine, size_mb

QUESTIONS = {
    "why was the transitional setting for the hashing algorithm removed": "0aa6a602b2",
    "when did we drop support for GDAL 2.4": "c709a748ce",
    "why did we go back on preventing double submission of admin forms": "0756c61f2a",
    "timing attack on the password check of mod_wsgi": "3eb814e02a",
    "SQL injection through the connector keyword of Q objects": "98e642c691",
    "positional arguments for the querystring template tag": "a39c28706a",
    "why does the admin changelist no longer use Exists to avoid duplicates": "d569c1dcfe",
    "template partials in the template language": "5e06b97095",
    "covering indexes on PostgreSQL": "8c7992f658",
    "following redirects in the asynchronous test client": "3f8dbe267d",
}
SHOWN = 5


def git_alone(repository: str, commits: int) -> dict[str, float]:
    """What git itself takes for the same differences."""
    before, start = os.times(), time.perf_counter()
    options = ["--patch", "--unified=1", "--no-ext-diff", "--no-textconv", "--diff-merges=off", "-l100"]
    command = ["git", f"--git-dir={repository}", "log", f"--max-count={commits}", *options]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"cpu_seconds": round(used, 1), "seconds": round(time.perf_counter() - start, 1)}


def synced(run: Runner, repository: str, index: Path) -> dict[str, Any]:
    """One sync by the command line, with its cost."""
    before = load()
    command = ["sync", repository, "--history", "--no-vectors", "--json", "--index", str(index)]
    cost = run(*WATERSMEET, *command, good=(0,))
    report = json.loads(cost.out)
    figures = {
        "load_before": before,
        "seconds": round(cost.wall, 2),
        "cpu_seconds": round(cost.cpu, 2),
        "sync_ms": report["took_ms"],
        "peak_mb": round(cost.peak),
        **{key: report[key] for key in ("added", "unchanged", "documents", "chunks")},
    }
    print(figures, file=sys.stderr)
    return figures


def answered(run: Runner, index: Path) -> dict[str, Any]:
    """The rank of the expected commit for each question; 0: not among the first ten."""
    ranks = {}
    for question, commit in QUESTIONS.items():
        command = ["search", question, "--kind", "commit", "--mode", "lexical", "--json", "--index", str(index)]
        results = json.loads(run(*WATERSMEET, *command).out)["results"]
        documents = list(dict.fromkeys(result["document"].rpartition("/")[2] for result in results))
        ranks[question] = next((rank for rank, name in enumerate(documents, 1) if name.startswith(commit)), 0)
    return {"ranks": ranks, f"in_first_{SHOWN}": sum(0 < rank <= SHOWN for rank in ranks.values()), "of": len(ranks)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repository")
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--save", default=str(RESULTS), metavar="FOLDER|none")
    options = parser.parse_args()
    figures: dict[str, Any] = {"machine": machine(), "commits": options.commits, "runs": []}
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        settings = {"WATERSMEET__SOURCE__HISTORY__MAX_COMMITS": str(options.commits), "PYTHONPATH": str(ROOT / "src")}
        run = Runner(home, settings)
        for number in range(options.runs):
            index = home / f"index-{number}"
            alone = git_alone(options.repository, options.commits)
            first, again = (synced(run, options.repository, index) for _ in range(2))
            own = first["cpu_seconds"] - alone["cpu_seconds"]
            first["commits_per_second"] = round(first["added"] / first["seconds"])
            first["commits_per_cpu_second_without_git"] = round(first["added"] / own)
            figures["runs"].append({"git_alone": alone, "first": first, "nothing_new": again})
        figures["index_mb"] = size_mb(index)
        figures["questions"] = answered(run, index)
    figures["machine"]["load_after"] = load()
    print(json.dumps(keep("git_history", figures, None if options.save == "none" else Path(options.save)), indent=1))


if __name__ == "__main__":
    main()
