"""The server's overhead per search, and its stability under load while the index is written.

    python benchmarks/server.py [FOLDER OF MARKDOWN] [--seconds 60] [--clients 50] [--deepen] [--no-keep]

First the same queries to `Engine.search` in one process and to `POST /api/search` of another, in turn: CPU a query.
Then many clients at once for a while, with a sync of changed files going on all the time: errors, latencies, memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, WATERSMEET, Runner, keep, load, machine, queries

CORPUS = SHARED / "data" / "markdown" / "kubernetes_en" / "files"
QUERIES, WARMING = 400, 100
LIMITS = {"added_cpu_ms": 3.0, "errors": 0, "memory_growth": 0.1}
TICK = os.sysconf("SC_CLK_TCK")

DIRECT = """
import json, sys, time
from watersmeet import Engine
from watersmeet.core.model import Request
with Engine(sys.argv[1]) as engine:
    for line in sys.stdin:
        start = time.process_time()
        answer = engine.search(Request(json.loads(line)))
        took = time.process_time() - start
        print(json.dumps([took, answer.mode, [result.id for result in answer.results]]), flush=True)
"""
"""Each query when it comes, like a server; the time is that of `Engine.search` alone."""


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_of(pid: int) -> float:
    """MB of its own: pages of files that are only mapped come and go as the system likes."""
    found = re.search(r"RssAnon:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


@contextmanager
def serving(run: Runner, index: Path) -> Iterator[tuple[int, int]]:
    """A server's process id and port."""
    argv = [*WATERSMEET, "serve", "--index", str(index), "--port", "0", "--json"]
    process = subprocess.Popen(argv, env=run.env, cwd=run.home, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.pid, int(json.loads(process.stdout.readline())["url"].rstrip("/").rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(20)


def added(run: Runner, index: Path, queries_asked: list[str]) -> dict[str, Any]:
    """CPU a query, direct and through the server, in turn, so that both have the same machine."""
    argv = [sys.executable, "-c", DIRECT, str(index)]
    asking = subprocess.Popen(argv, env=run.env, cwd=run.home, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with serving(run, index) as (pid, port), asking as one:
        assert one.stdin is not None
        assert one.stdout is not None
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        direct, modes, start = 0.0, set(), 0.0
        for number, query in enumerate(queries_asked):
            if number == WARMING:
                direct, start = 0.0, cpu_of(pid)
            one.stdin.write(json.dumps(query) + "\n")
            one.stdin.flush()
            took, mode, ids = json.loads(one.stdout.readline())
            direct += took
            modes.add(mode)
            body = json.dumps({"query": query})
            connection.request("POST", "/api/search", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            assert [result["id"] for result in answer["results"]] == ids, query
        served = cpu_of(pid) - start
        connection.close()
        one.stdin.close()
    many = len(queries_asked) - WARMING
    return {
        "queries": many,
        "modes": sorted(modes),
        "direct_cpu_ms": round(1000 * direct / many, 2),
        "served_cpu_ms": round(1000 * served / many, 2),
        "added_cpu_ms": round(1000 * (served - direct) / many, 2),
    }


def under_load(run: Runner, index: Path, corpus: Path, file: Path, clients: int, seconds: float) -> dict[str, Any]:
    """Clients, a writer, and a look at the server's memory each half second."""
    over = threading.Event()
    samples_mb: list[float] = []
    syncs: list[int] = []
    pages = sorted(corpus.rglob("*.md"))

    def write() -> None:
        sync = [*WATERSMEET, "sync", str(corpus), "--index", str(index), "--json", "--no-deepen"]
        while not over.is_set():
            for page in pages[len(syncs) % 50 :: 50]:
                page.write_text(page.read_text(errors="replace") + f"\n\nEdit {len(syncs)} about estuaries.\n", "utf8")
            report = json.loads(run(*sync).out)
            syncs.append(report["changed"])
            over.wait(1.0)

    def watch(pid: int) -> None:
        while not over.wait(0.5):
            samples_mb.append(memory_of(pid))

    with serving(run, index) as (pid, port):
        threads = [threading.Thread(target=write), threading.Thread(target=watch, args=(pid,))]
        for thread in threads:
            thread.start()
        clients_run = [sys.executable, str(Path(__file__).parent / "_clients.py")]
        found: dict[str, Any] = json.loads(run(*clients_run, str(port), str(clients), str(seconds), str(file)).out)
        over.set()
        for thread in threads:
            thread.join()
    third = max(1, len(samples_mb) // 3)
    middle, last = max(samples_mb[third : 2 * third], default=0.0), max(samples_mb[-third:], default=0.0)
    return found | {
        "syncs": len(syncs),
        "files_changed": sum(syncs),
        "memory_mb": [round(one) for one in samples_mb[:: max(1, len(samples_mb) // 12)]],
        "memory_growth": round(last / middle - 1, 3) if middle else 0.0,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--deepen", action="store_true", help="with the deep vectors")
    parser.add_argument("--no-keep", action="store_true", help="write no result")
    chosen = parser.parse_args()
    queries_asked = list(dict.fromkeys(queries(chosen.corpus, QUERIES)))
    facts = machine()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        corpus = Path(shutil.copytree(chosen.corpus, folder / "corpus"))
        run, index, file = Runner(folder), folder / "index", folder / "queries.json"
        file.write_text(json.dumps(queries_asked), "utf8")
        sync = [*WATERSMEET, "sync", str(corpus), "--index", str(index), "--json"]
        made = json.loads(run(*sync, *([] if chosen.deepen else ["--no-deepen"])).out)
        figures = {"documents": made["documents"], "chunks": made["chunks"]}
        figures |= {"cpu": added(run, index, queries_asked)}
        figures |= {"load": under_load(run, index, corpus, file, chosen.clients, chosen.seconds)}
    facts["load_after"] = load()
    measured = {**figures["cpu"], **figures["load"]}
    missed = [name for name, limit in LIMITS.items() if measured[name] > limit]
    result = {"machine": facts, **figures, "limits": LIMITS, "missed": missed}
    print(json.dumps(keep("server", result, None if chosen.no_keep else RESULTS), indent=1))
    print(f"missed: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
