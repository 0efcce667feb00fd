"""Equality of results from three stores: a folder, copied into memory and into PostgreSQL + Qdrant.

    python benchmarks/same_answers.py [--sets cranfield scifact_train] [--queries 100] [--data FOLDER] [--keep]

Each query is asked of all three by the same engine and recipe. What is counted: the same first 10 in the same order,
the same 10, the same first; and how far apart the scores are at most. Then, for the cluster alone: how many calls to a
server follow one another in a query (`depth`), with a delay added to each, and how the time grows with it (`slope`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, keep, machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from cluster_index import Cluster, ClusterFilling
from cluster_index.trips import depth

from clusters import running
from copied import Copied, copied
from memory_filling import MemoryFilling
from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.settings.settings import load as load_settings
from watersmeet.evaluate.data import Dataset, load
from watersmeet.evaluate.index import indexed

SETS = ("cranfield", "metatool", "zoomcamp_faq", "scifact_train")
DELAYS = (0.0, 0.005, 0.02)
WARM = 5
"""So many queries are not counted: connections are opened, and statistics are read once for each process."""
Hits = list[tuple[str, float]]


def results_of(engine: Engine, query: str, **options: Any) -> tuple[Hits, str]:
    answer = engine.search(Request(query, top_n=10, **options))
    if answer.failures:
        raise SystemExit(f"{query!r}: {answer.failures}")
    return [(result.id, result.score) for result in answer.results], answer.mode


def compared(ours: Hits, theirs: Hits) -> dict[str, float]:
    order, other = [chunk for chunk, _ in ours], [chunk for chunk, _ in theirs]
    scores = dict(theirs)
    return {
        "order": order == other,
        "set": set(order) == set(other),
        "first": order[:1] == other[:1],
        "apart": max((abs(score - scores[chunk]) for chunk, score in ours if chunk in scores), default=0.0),
    }


def measured(index: Cluster, settings: Settings, queries: list[str]) -> dict[str, Any]:
    """Calls that follow one another, with a delay added to each; every query is new to the process that asks it."""
    found: dict[str, Any] = {}
    for delay in DELAYS:
        cluster = index.again()
        depths, calls, took = [], [], []
        with Engine(cluster, settings) as engine:
            for number, query in enumerate(queries):
                cluster.trips.delay = delay
                with cluster.trips.counted() as made:
                    start = time.perf_counter()
                    results_of(engine, query)
                    elapsed = (time.perf_counter() - start) * 1000
                if number >= WARM:
                    depths.append(depth(made))
                    calls.append(len(made))
                    took.append(elapsed)
        found[f"{delay * 1000:g} ms"] = {
            "p50_ms": round(statistics.median(took), 2),
            "depth_most": max(depths),
            "depth_median": statistics.median(depths),
            "calls_median": statistics.median(calls),
        }
    first, last = (found[f"{delay * 1000:g} ms"]["p50_ms"] for delay in (DELAYS[0], DELAYS[-1]))
    found["slope"] = round((last - first) / (1000 * (DELAYS[-1] - DELAYS[0])), 2)
    return found


def filled_cluster(name: str, content: Copied) -> tuple[ClusterFilling, float]:
    servers = running()
    start = time.perf_counter()
    dimensions = {tier: one.dimension for tier, (one, _) in content.tiers.items()}
    filling = ClusterFilling(Cluster(servers.postgres, servers.qdrant, name), dimensions)
    content.fill(filling)
    filling.facts(content.facts)
    return filling, time.perf_counter() - start


def run(dataset: Dataset, queries: int) -> dict[str, Any]:
    settings = load_settings(environ={})
    made = indexed(dataset, settings, "hybrid", lambda progress: None)
    content = copied(made.folder)
    memory = MemoryFilling()
    content.fill(memory)
    memory.commit(meta=content.facts)
    filling, took = filled_cluster(f"same_{dataset.name}", content)
    texts = [question.text for question in dataset.limited(queries, 7).questions]
    report: dict[str, Any] = {
        "documents": len(content.given),
        "chunks": sum(len(one.chunks) for one in content.given),
        "queries": len(texts),
        "fill_seconds": round(took, 1),
    }
    with (
        Engine(made.folder, settings) as local,
        Engine(memory.index, settings) as other,
        Engine(filling.index, settings) as cluster,
    ):
        answers = {
            name: [results_of(one, text) for text in texts]
            for name, one in (("local", local), ("memory", other), ("cluster", cluster))
        }
        report["mode"] = answers["local"][0][1]
        for name in ("memory", "cluster"):
            pairs = [
                compared(ours, theirs) for (ours, _), (theirs, _) in zip(answers["local"], answers[name], strict=True)
            ]
            report[name] = {what: sum(int(pair[what]) for pair in pairs) for what in ("order", "set", "first")}
            report[name]["apart"] = max(pair["apart"] for pair in pairs)
            report[name]["differ"] = [text for text, pair in zip(texts, pairs, strict=True) if not pair["order"]][:5]
        report["trips"] = measured(filling.index, settings, texts[: 50 + WARM])
        filling.index.drop()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "eval")
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    figures = {"machine": machine(), "delays": DELAYS}
    sets = {name: run(load(wanted.data / name), wanted.queries) for name in wanted.sets}
    print(json.dumps(keep("same_answers", figures | {"sets": sets}, RESULTS if wanted.keep else None), indent=1))


if __name__ == "__main__":
    main()
