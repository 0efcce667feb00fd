"""Query latency in a warm process. Run by speed.py, one process for each mode.

python benchmarks/_asking.py INDEX MODE QUERIES.json WARMING
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from _common import peak_mb, percentiles

from watersmeet import Engine
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import load


def asking(index: str, mode: str, queries: list[str], warming: int) -> dict[str, Any]:
    """Times of queries after the first `warming` ones. No query repeats, since query vectors are cached."""
    processor, wall, answered, modes, failures = [], [], 0, set(), set()
    with Engine(index, load(start=index, environ={})) as engine:
        for number, query in enumerate(queries):
            began, cpu = time.perf_counter(), time.process_time()
            answer = engine.search(Request(query, mode=mode))
            cpu, took = time.process_time() - cpu, time.perf_counter() - began
            if number < warming:
                continue
            processor.append(1000 * cpu)
            wall.append(1000 * took)
            answered += bool(answer.results)
            modes.add(answer.mode)
            failures |= {f"{failure.by}: {failure.reason}" for failure in answer.failures}
    return {
        "modes": sorted(modes),
        "failures": sorted(failures),
        "queries": len(processor),
        "answered": answered,
        "cpu_ms": percentiles(processor),
        "wall_ms": percentiles(wall),
        "peak_mb": peak_mb(),
    }


if __name__ == "__main__":
    place, kind, file, first = sys.argv[1:]
    print(json.dumps(asking(place, kind, list(dict.fromkeys(json.loads(Path(file).read_text("utf8")))), int(first))))
