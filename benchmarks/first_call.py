"""Seconds until the first and the second answer on a folder that has no index yet: command line and MCP over stdio.

    python benchmarks/first_call.py FOLDER=QUERY... [--source SRC] [--runs 3] [--save NAME]

Each folder is copied, and each run has a cache folder of its own. `--source` measures another checkout. The command
line is timed until its first line of output and until it ends; MCP from the start of the server, and from the call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

HERE = Path(__file__).resolve().parents[1]
MCP_TIMEOUT_SECONDS = 300.0


def environment(source: str, cache: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": source, "XDG_CACHE_HOME": cache, "XDG_CONFIG_HOME": cache + "-config"}


def command_line(folder: str, query: str, environ: dict[str, str]) -> dict[str, Any]:
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "watersmeet", "search", "--json", query, "--in", folder],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    answered = time.perf_counter() - start
    process.wait()
    answer = json.loads(line or "{}")
    return {
        "answer_s": round(answered, 2),
        "end_s": round(time.perf_counter() - start, 2),
        "results": len(answer.get("results", ())),
        "mode": answer.get("mode"),
        "indexing": answer.get("indexing"),
    }


async def over_mcp(folder: str, query: str, environ: dict[str, str], calls: int = 2) -> list[dict[str, Any]]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "watersmeet", "mcp", "--in", folder, "--quiet"], env=environ
    )
    begin = time.perf_counter()
    found: list[dict[str, Any]] = []
    steps: list[tuple[Any, ...]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    async with Client(server, read_timeout_seconds=MCP_TIMEOUT_SECONDS) as client:
        for _ in range(calls):
            start = time.perf_counter()
            steps.clear()
            answer = await client.call_tool("search", {"query": query}, progress_callback=progress)
            structured = answer.structured_content or {}
            found.append(
                {
                    "call_s": round(time.perf_counter() - start, 2),
                    "since_start_s": round(time.perf_counter() - begin, 2),
                    "error": answer.content[0].text[:100] if answer.is_error else None,  # type: ignore[union-attr]
                    "results": len(structured.get("results", ())),
                    "mode": structured.get("mode"),
                    "indexing": structured.get("indexing"),
                    "progress": len(steps),
                }
            )
    return found


def measure(folder: str, query: str, source: str, runs: int) -> dict[str, Any]:
    cli: list[list[dict[str, Any]]] = []
    mcp: list[list[dict[str, Any]]] = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as place:
            copy = shutil.copytree(folder, os.path.join(place, os.path.basename(folder)))
            environ = environment(source, os.path.join(place, "cache-cli"))
            cli.append([command_line(copy, query, environ) for _ in range(2)])
            environ = environment(source, os.path.join(place, "cache-mcp"))
            mcp.append(asyncio.run(over_mcp(copy, query, environ)))
    first = statistics.median(run[0]["answer_s"] for run in cli)
    called = statistics.median(run[0]["since_start_s"] for run in mcp)
    return {"cli_first_answer_s": first, "mcp_first_answer_since_start_s": called, "cli": cli, "mcp": mcp}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER=QUERY")
    parser.add_argument("--source", default=str(HERE / "src"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--save", default="", metavar="NAME")
    given = parser.parse_args()
    made: dict[str, Any] = {}
    for folder, _, query in (one.partition("=") for one in given.folders):
        made[os.path.basename(folder)] = measure(folder, query, given.source, given.runs)
        print(json.dumps({os.path.basename(folder): made[os.path.basename(folder)]}), flush=True)
    if given.save:
        (HERE / "benchmarks" / "results" / given.save).write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
