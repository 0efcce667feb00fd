"""The overhead of fusing several signals: `default` beside its slowest signal, warm, in one run.

    python benchmarks/overhead.py [--index DIR] [--queries 100]

Without an index, Kubernetes' documentation is synced into a temporary one, deep vectors included, which takes minutes.
Each query is asked with all signals, and with each signal alone, in an order that is drawn anew for each: whatever else
the machine does falls on all alike, and so does being the first to touch what the query needs. A query's vector is made
anew each time: what was remembered is forgotten before. The process is set up as those of the command are, its servers
among them.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, SHARED, keep, machine, percentiles
from quality import settings

from watersmeet.core.model import Request
from watersmeet.engine.engine import Engine
from watersmeet.engine.models import embedder
from watersmeet.face.cli.main import tune_interpreter

DOCS = SHARED / "data" / "markdown" / "kubernetes_en"
QUERIES = SHARED / "data" / "eval" / "k8s_anchor" / "queries.jsonl"
LIMIT = 1.3


def measure(index: str, queries: list[str]) -> dict[str, Any]:
    chosen = settings("default")
    signals: list[str] = chosen.section("pipeline").signals
    alone = {name: settings("default", {"pipeline": {"signals": [name], "stages": ["top"]}}) for name in signals}
    took: dict[str, list[float]] = {name: [] for name in ("default", "embedding", *signals)}
    model = embedder(chosen, "onnx")
    draw = random.Random(1)  # noqa: S311 - an order
    with Engine(index, chosen) as whole:
        engines = {"default": whole, **{name: Engine(index, made) for name, made in alone.items()}}
        for number, query in enumerate([*queries[:10], *queries]):
            for name, engine in draw.sample([*engines.items()], len(engines)):
                model._queries.clear()
                start = time.perf_counter()
                engine.search(Request(query, "hybrid" if name != "exact" else "exact"))
                if number >= 10:
                    took[name].append((time.perf_counter() - start) * 1000)
            model._queries.clear()
            start = time.perf_counter()
            model.embed_query(query)
            if number >= 10:
                took["embedding"].append((time.perf_counter() - start) * 1000)
        for name in signals:
            engines[name].close()
        chunks = whole.status()["chunks"]
    found = {name: percentiles(values) for name, values in took.items()}
    slowest = max(signals, key=lambda name: found[name]["p50"])
    bound = found[slowest]["p50"] + (0.0 if slowest == "dense" else found["embedding"]["p50"])
    ratio = found["default"]["p50"] / bound
    return {"chunks": chunks, "queries": len(queries), "ms": found, "slowest": slowest, "ratio": round(ratio, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--index", default="")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    tune_interpreter()
    texts = [json.loads(line)["text"] for line in QUERIES.read_text("utf8").splitlines()]
    random.Random(0).shuffle(texts)  # noqa: S311 - a sample
    with tempfile.TemporaryDirectory() as folder:
        index = args.index or folder
        if not args.index:
            with Engine(index, settings("default")) as engine:
                engine.sync([DOCS])
        figures = measure(index, texts[: args.queries])
    result = keep("overhead", {"machine": machine(), "limit": LIMIT, **figures}, args.out)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
