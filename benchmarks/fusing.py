"""What fusion, five stages and a full explain cost: 5 signals, 100 candidates each, the first 10 shown."""

from __future__ import annotations

import json
import random
import statistics
import time

from watersmeet.core.model import ChunkId, DocId, Hit, Plan, Ranking, Result
from watersmeet.core.place import Place
from watersmeet.engine.components import build
from watersmeet.present.answer import breakdown, explain_line

ROUNDS = 300


def rankings(seed: int) -> list[Ranking]:
    rng = random.Random(seed)  # noqa: S311 - a benchmark's data
    chunks = [ChunkId(f"{i:016x}") for i in range(300)]
    picked = {by: rng.sample(chunks, 100) for by in ("lexical", "exact", "static", "dense", "sparse")}
    candidates = sorted({chunk for some in picked.values() for chunk in some})
    return [
        Ranking(
            by,
            Ranking.of(by, (Hit(chunk, 1 + rng.random()) for chunk in some)).hits,
            filled={chunk: rng.random() for chunk in candidates if chunk not in some},
        )
        for by, some in picked.items()
    ]


def main() -> None:
    plan = Plan("q", top_n=10)
    fusion = build("fusion", "convex", {"weights": {"lexical": 0.3, "dense": 0.5}})
    stages = [build("stage", name, {}) for name in ("unit", "floor", "unit", "top", "unit")]
    given = [rankings(seed) for seed in range(ROUNDS)]
    took = []
    for some in given:
        start = time.process_time()
        whole = ranking = fusion.fuse(some, plan)
        fused = {hit.chunk: hit.score for hit in ranking.hits}
        for stage in stages:
            ranking = stage.apply(ranking, plan)
        ranking = ranking.explained(whole)
        for hit in ranking.hits:
            place = (DocId("d"), "document", "T", ("H",), "p", Place((1, 2)), "text")
            shown = Result(hit.chunk, *place, hit.score, fused[hit.chunk], None, hit.evidence)
            explain_line(shown)
            breakdown(shown)
        took.append((time.process_time() - start) * 1000)
    print(
        json.dumps({"cpu_ms": {"p50": round(statistics.median(took), 3), "p95": round(sorted(took)[-ROUNDS // 20], 3)}})
    )


if __name__ == "__main__":
    main()
