"""An index in PostgreSQL and Qdrant beside the folder that it was pushed from: the push, and time and CPU of queries.

    python benchmarks/cluster.py [--notes 60000] [--questions 200] [--keep]

Notes of real Markdown, repeated with variation (`_corpus.py`), with words and static vectors: 1.6 chunks each. Queries
are hybrid, by one client, of each in turn. CPU of the servers is that of all their processes. Points are also written
again by gRPC and by HTTP, which is the choice of `store.postgres.qdrant_grpc_ports`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, keep, machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import _corpus
import numpy as np
from words_at_scale import quantiles, questions

from clusters import running
from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.push import push
from watersmeet.store.qdrant.nodes import Access, Nodes
from watersmeet.store.qdrant.points import Point, Qdrant

POINTS, TERMS = 5000, 300


def servers_cpu() -> float:
    """CPU seconds of PostgreSQL and Qdrant, with those of backends that have ended."""
    servers = running()
    folder = Path(servers.postgres.partition("host=")[2])
    postmaster = int((folder / "postmaster.pid").read_text().split()[0])
    ticks = 0.0
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry) in (postmaster, servers.qdrant.pid):
            ticks += sum(map(int, fields[11:15]))  # with children that were waited for
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Spent:
    """Seconds, and CPU seconds of this process and of the servers, since it was made."""

    def __init__(self) -> None:
        self.wall, self.client, self.server = time.perf_counter(), time.process_time(), servers_cpu()

    def report(self, times: int = 1) -> dict[str, float]:
        wall, client = time.perf_counter() - self.wall, time.process_time() - self.client
        server = servers_cpu() - self.server
        names = ("seconds", "client_cpu", "server_cpu") if times == 1 else ("ms", "client_cpu_ms", "server_cpu_ms")
        scale = 1 if times == 1 else 1000 / times
        return {name: round(scale * value, 2) for name, value in zip(names, (wall, client, server), strict=True)}


def written(port: int) -> dict[str, float]:
    """What it costs to write points of words."""
    chance = np.random.default_rng(1)
    qdrant = Qdrant(Nodes([running().qdrant.url], [port], Access(), 60.0, 120.0))
    points = [
        Point(row, (np.sort(chance.choice(1 << 20, TERMS, replace=False)), chance.random(TERMS, np.float32)), {})
        for row in range(POINTS)
    ]
    qdrant.make("rate")
    spent = Spent()
    qdrant.put("rate", points)
    found = spent.report()
    qdrant.drop("rate")
    qdrant.nodes.close()
    return found | {"points_a_second": round(POINTS / found["seconds"])}


def asked(ours: Engine, theirs: Engine, texts: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, engine in (("local", ours), ("cluster", theirs)):
        times = []
        for text in texts[:20]:
            engine.search(Request(text))
        spent = Spent()
        for text in texts:
            start = time.perf_counter()
            answer = engine.search(Request(text))
            times.append(1000 * (time.perf_counter() - start))
            assert not answer.failures, answer.failures
        found[name] = {"wall_ms": quantiles(times), **spent.report(len(texts))}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=60_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    servers = running()
    of = "WATERSMEET__STORE__POSTGRES__"
    settings = load(
        environ={
            "WATERSMEET__INDEX__DENSE": "",
            f"{of}QDRANT": json.dumps([servers.qdrant.url]),
            f"{of}QDRANT_GRPC_PORTS": json.dumps([servers.qdrant.grpc_port]),
        }
    )
    report: dict[str, Any] = {"machine": machine(), "load": os.getloadavg()}
    report["writing"] = {"grpc": written(servers.qdrant.grpc_port), "http": written(0)}
    print(json.dumps(report), file=sys.stderr, flush=True)
    target = f"{servers.postgres}&index=pushed"
    with tempfile.TemporaryDirectory() as place:
        _corpus.write(Path(place) / "notes", 0, wanted.notes)
        with Engine(Path(place) / "index", settings) as ours, Engine(target, settings) as theirs:
            spent = Spent()
            ours.sync([Path(place) / "notes"])
            ours.deepen()
            report["local sync"] = spent.report()
            spent = Spent()
            pushed = push(ours, target, lambda *_: None)
            report["push"] = {"chunks": pushed.rows, **spent.report(), **pushed.same_answers.to_json()}
            report["push"]["chunks_a_second"] = round(pushed.rows / report["push"]["seconds"])
            print(json.dumps(report), file=sys.stderr, flush=True)
            texts = [" ".join(words) for words in questions(wanted.questions)["12 words"]]
            report["queries"] = asked(ours, theirs, texts)
    report["load_after"] = os.getloadavg()
    print(json.dumps(keep("cluster", report, RESULTS if wanted.keep else None), indent=1))


if __name__ == "__main__":
    main()
