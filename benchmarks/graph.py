"""Following Qdrant's graph beside comparing all vectors, on real ones: what is missed, and what it costs the server.

    python benchmarks/graph.py [--quantization none] [--m 16] [--shards 1] [--vectors ROWS.npy QUESTIONS.npy] [--keep]

The vectors are the static ones of all real passages of ../shared/data, or those given; the questions are those of the
judged corpora. The collection is made and filled as `watersmeet push` does it, and each search fetches what a query of
the engine fetches. Counted for each number of neighbours looked at (`ef`): questions with the same ten as comparing all
in float32 (equal scores count as the same), the share of the best hundred that is found, and CPU of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, ROOT, SHARED, keep, machine
from words_at_scale import JUDGED, Cost, Hits, passages

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from clusters import Qdrant as Server
from watersmeet.engine.models import embedder
from watersmeet.engine.settings.settings import load
from watersmeet.store.qdrant.nodes import Access, Nodes
from watersmeet.store.qdrant.points import Point, Qdrant, Shape

QUESTIONS, FETCHED, BEST, BATCH = 300, 133, 100, 2000
"""`FETCHED`: what the engine fetches for a pool of a hundred."""
EF = (100, 256, 512, 1024)
OVERSAMPLING = (2.0, 4.0)
EQUAL = 1e-6
Matrix = Any


def static() -> tuple[Matrix, Matrix]:
    """Vectors of all real passages, and of questions."""
    settings = load(environ={})
    model = embedder(settings, settings.section("index").static)
    texts = [f"{title}\n{text}" for title, text in passages()]
    found = []
    for name in JUDGED:
        lines = (SHARED / "data" / "eval" / name / "queries.jsonl").read_text("utf8").splitlines()
        found += lines[:: max(1, len(lines) * len(JUDGED) // QUESTIONS)]
    asked = np.array([model.embed_query(json.loads(line)["text"]) for line in found], dtype=np.float32)
    return np.concatenate([part for _, part in model.embed_stream(texts, BATCH)]), asked


def unit(vectors: Matrix) -> Matrix:
    found = np.asarray(vectors, dtype=np.float32)
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return (found / np.maximum(length, 1e-9))[length[:, 0] > 0]


def filled(qdrant: Qdrant, rows: Matrix, server: Server) -> dict[str, Any]:
    begin, before = time.perf_counter(), cpu(server.pid)
    qdrant.make("graph", rows.shape[1], loading=True)
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        qdrant.put("graph", [Point(start + n, vector, {}) for n, vector in enumerate(part)])
    loaded = cpu(server.pid)
    qdrant.index("graph")
    time.sleep(3)
    while qdrant.state("graph") != "green":
        time.sleep(1)
    info = qdrant.nodes.call("GET", "/collections/graph")
    return {
        "seconds": round(time.perf_counter() - begin),
        "loading_cpu_seconds": round(loaded - before),
        "graph_cpu_seconds": round(cpu(server.pid) - loaded),
        "segments": info["segments_count"],
        "indexed": info["indexed_vectors_count"],
        "memory_mb": memory(server.pid),
    }


def cpu(pid: int) -> float:
    """CPU seconds of a process, with threads that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> dict[str, int]:
    """Of a process, in MB: its own, and pages of files, which can be given back."""
    text = Path(f"/proc/{pid}/status").read_text()
    return {name: int(re.findall(rf"{name}:\s*(\d+)", text)[0]) // 1024 for name in ("RssAnon", "RssFile")}


def asked(qdrant: Qdrant, server: Server, rows: Matrix, questions: Matrix, params: Mapping[str, Any]) -> dict[str, Any]:
    cost, same, first, recall = Cost(server.pid), 0, 0, 0.0
    queries = [qdrant.query([float(value) for value in one], FETCHED, {}) | {"params": params} for one in questions]
    qdrant.search("graph", queries[:20])

    def ask(query: dict[str, Any]) -> Hits:
        (hits,) = qdrant.search("graph", [query])
        return hits

    for question, query in zip(questions, queries, strict=True):
        found = cost.measure(partial(ask, query))
        scores = rows @ question
        ranked = np.sort(scores)[::-1]
        hits = [scores[row] for row, _ in found]
        same += min(hits[:10]) >= ranked[9] - EQUAL
        first += hits[0] >= ranked[0] - EQUAL
        recall += sum(hit >= ranked[BEST - 1] - EQUAL for hit in hits[:BEST]) / BEST
    count = len(questions)
    report = cost.report()
    return {
        "same_ten": round(same / count, 4),
        "same_first": round(first / count, 4),
        "recall_100": round(recall / count, 4),
        "server_cpu_ms": report["server"],
        "wall_ms": report["wall"],
    }


def searched(shape: Shape) -> dict[str, dict[str, Any]]:
    """Searches by name. Without a graph (`m` of 0) all codes are compared, and the best by their vectors."""
    if shape.quantization == "none":
        return {"all": {"exact": True}, **{f"ef {ef}": {"hnsw_ef": ef} for ef in EF if shape.m}}
    return {
        f"ef {ef}, {over:g} times": {"hnsw_ef": ef, "quantization": {"rescore": True, "oversampling": over}}
        for ef in (EF if shape.m else EF[:1])
        for over in OVERSAMPLING
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quantization", choices=("none", "scalar", "binary"), default="none")
    parser.add_argument("--m", type=int, default=16)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--vectors", nargs=2, type=Path, metavar=("ROWS", "QUESTIONS"))
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args(arguments)
    shape = Shape(m=wanted.m, quantization=wanted.quantization, shards=wanted.shards)
    report: dict[str, Any] = {"machine": machine(), "quantization": shape.quantization, "m": shape.m}
    report["shards"] = shape.shards
    rows, questions = map(unit, map(np.load, wanted.vectors) if wanted.vectors else static())
    report |= {"vectors": len(rows), "dimension": rows.shape[1], "questions": len(questions)}
    with tempfile.TemporaryDirectory(prefix="wm-graph-") as place:
        server = Server(Path(place) / "qdrant")
        try:
            nodes = Nodes([server.url], [server.grpc_port], Access(), 120.0, 600.0)
            qdrant = Qdrant(nodes, shape)
            report["filling"] = filled(qdrant, rows, server)
            print(json.dumps(report), file=sys.stderr, flush=True)
            report["searches"] = {
                name: asked(qdrant, server, rows, questions, params) for name, params in searched(shape).items()
            }
            report["memory_after_mb"] = memory(server.pid)
        finally:
            server.stop()
    report["load_after"] = os.getloadavg()
    name = f"graph_{shape.quantization}_{shape.m}_{shape.shards}"
    print(json.dumps(keep(name, report, RESULTS if wanted.keep else None), indent=1))


if __name__ == "__main__":
    main()
