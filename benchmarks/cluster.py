"""An index in PostgreSQL and Qdrant beside the folder that it was pushed from: the push, and time and CPU of queries.

    python benchmarks/cluster.py [--questions 300] [--replicas 240] [--rate 5] [--index FOLDER] [--keep]

Real texts: the shared Markdown and those of the judged corpora, each a file, with words and static vectors; more than
100,000 chunks. Queries are hybrid, 12 words of the questions of these corpora, by one client, each to the folder and to
the cluster in turn. Then others to one and to two `watersmeet serve` processes. CPU is that of this process or of those
servers, of PostgreSQL and of Qdrant, each apart. Points are also written by gRPC and by HTTP, which is
the choice of `store.postgres.qdrant_grpc_ports`. `--index`: where the local index is made, and used if it is there.
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

from _common import RESULTS, ROOT, keep, load, machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import _cluster_texts
import numpy as np
from _cluster_cpu import Used, used
from _replicas import WARMING, one_and_two
from words_at_scale import quantiles, questions

from clusters import running
from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings import settings
from watersmeet.engine.sync.push import Pushed, push
from watersmeet.store.qdrant._wire import upsert
from watersmeet.store.qdrant.nodes import Access, Nodes
from watersmeet.store.qdrant.points import Point, Qdrant

POINTS, TERMS = 10_000, 300
OF = "WATERSMEET__STORE__POSTGRES__"


def written(port: int) -> dict[str, float]:
    """What it costs to write points of words, with gRPC's port or without."""
    chance = np.random.default_rng(1)
    qdrant = Qdrant(Nodes([running().qdrant.url], [port], Access(), 60.0, 120.0))
    points = [
        Point(row, (np.sort(chance.choice(1 << 20, TERMS, replace=False)), chance.random(TERMS, np.float32)), {})
        for row in range(POINTS)
    ]
    size = len(upsert("rate", points)) / 1e6
    qdrant.make("rate")
    start = used()
    qdrant.put("rate", points)
    taken = used().since(start)
    qdrant.drop("rate")
    qdrant.nodes.close()
    rates = {"points_a_second": round(POINTS / taken.seconds), "mb_a_second": round(size / taken.seconds, 1)}
    return {**taken.to_json(), **rates}


class Moving:
    """What each part of a push takes."""

    def __init__(self) -> None:
        self._name, self._start = "opening", used()
        self.parts: dict[str, Used] = {}

    def __call__(self, name: str, *_: int) -> None:
        if name != self._name:
            now = used()
            self.parts[self._name] = now.since(self._start)
            self._name, self._start = name, now

    def report(self, pushed: Pushed) -> dict[str, Any]:
        self("")
        whole = Used(*map(sum, zip(*self.parts.values(), strict=True)))
        filling = sum(took.seconds for name, took in self.parts.items() if not name.startswith("comparing"))
        return {
            "chunks": pushed.rows,
            "documents": pushed.documents,
            "chunks_a_second": round(pushed.rows / whole.seconds),
            "chunks_a_second_without_comparing": round(pushed.rows / filling),
            "chunks_a_cpu_second": round(pushed.rows / sum(whole[1:])),
            **whole.to_json(),
            "parts": {name: took.to_json() for name, took in self.parts.items()},
            "same_answers": pushed.same_answers.to_json(),
        }


def optimised(qdrant: Qdrant) -> dict[str, float]:
    """Wait until Qdrant has made its graphs and merged its segments."""
    start, end = used(), time.monotonic() + 600
    while any(qdrant.state(name) != "green" for name in qdrant.names()) and time.monotonic() < end:
        time.sleep(1)
    return used().since(start).to_json()


def asked(ours: Engine, theirs: Engine, warming: Sequence[str], texts: Sequence[str]) -> dict[str, Any]:
    engines = {"local": ours, "cluster": theirs}
    for text in warming:
        for engine in engines.values():
            engine.search(Request(text))
    walls: dict[str, list[float]] = {name: [] for name in engines}
    clients: dict[str, list[float]] = {name: [] for name in engines}
    sums = dict.fromkeys(engines, Used(0.0, 0.0, 0.0, 0.0))
    same = first = 0
    for text in texts:
        ids = []
        for name, engine in engines.items():
            start = used()
            answer = engine.search(Request(text))
            took = used().since(start)
            assert not answer.failures, answer.failures
            walls[name].append(1000 * took.seconds)
            clients[name].append(1000 * took.client)
            sums[name] = Used(*map(sum, zip(sums[name], took, strict=True)))
            ids.append([result.id for result in answer.results])
        same += ids[0] == ids[1]
        first += ids[0][:1] == ids[1][:1]
    found: dict[str, Any] = {"queries": len(texts), "same_order": same, "same_first": first}
    for name in engines:
        latency = {"wall_ms": quantiles(walls[name]), "client_cpu_ms_of_each": quantiles(clients[name])}
        found[name] = {**sums[name].of_a_query(len(texts)), **latency}
    return found


def local(place: Path, ours: Engine) -> dict[str, float]:
    """Fill the folder's index, unless it is filled."""
    if ours.index.exists():
        return {}
    texts = place / "texts"
    _cluster_texts.write(texts)
    start = used()
    ours.sync([texts])
    ours.deepen()
    return used().since(start).to_json()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--replicas", type=int, default=240, help="questions to one and to two servers")
    parser.add_argument("--rate", type=float, default=5.0, help="queries a second, at most, of these")
    parser.add_argument("--index", help="folder of the local index; default: a temporary one")
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    servers = running()
    environment = {
        "WATERSMEET__INDEX__DENSE": "",
        f"{OF}QDRANT": json.dumps([servers.qdrant.url]),
        f"{OF}QDRANT_GRPC_PORTS": json.dumps([servers.qdrant.grpc_port]),
    }
    chosen = settings.load(environ=environment)
    report: dict[str, Any] = {"machine": machine()}
    report["writing"] = {"grpc": written(servers.qdrant.grpc_port), "http": written(0)}
    target = f"{servers.postgres}&index=pushed"
    texts = [" ".join(words) for words in questions(WARMING + wanted.questions + wanted.replicas)["12 words"]]
    warming, texts = texts[:WARMING], texts[WARMING:]
    with tempfile.TemporaryDirectory() as place:
        index = wanted.index or os.path.join(place, "index")
        with Engine(index, chosen) as ours, Engine(target, chosen) as theirs:
            report["local sync"] = local(Path(place), ours)
            report["load of push"], moving = load(), Moving()
            report["push"] = moving.report(push(ours, target, moving))
            qdrant = Qdrant(Nodes([servers.qdrant.url], [], Access(), 60.0, 60.0))
            report["optimising after the push"] = optimised(qdrant)
            print(json.dumps(report), file=sys.stderr, flush=True)
            report["load of queries"] = load()
            report["queries"] = asked(ours, theirs, warming, texts[: wanted.questions])
            print(json.dumps(report["queries"]), file=sys.stderr, flush=True)
        report["load of replicas"] = load()
        rest = texts[wanted.questions :]
        report["replicas"] = one_and_two(target, {**os.environ, **environment}, warming, rest, wanted.rate)
    report["load_after"] = load()
    print(json.dumps(keep("cluster", report, RESULTS if wanted.keep else None), indent=1))


if __name__ == "__main__":
    main()
