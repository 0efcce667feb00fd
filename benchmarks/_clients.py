"""A load test: concurrent clients on one server. Run by server.py, in a process of its own.

python benchmarks/_clients.py PORT CLIENTS SECONDS QUERIES.json
"""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any


def client(port: int, queries: list[str], until: float, took: list[float], errors: list[str]) -> None:
    """A client with one persistent connection that sends queries one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    number = 0
    while time.perf_counter() < until:
        start = time.perf_counter()
        try:
            body = json.dumps({"query": queries[number % len(queries)]})
            connection.request("POST", "/api/search", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                errors.append(f"{answer.status}: {content[:200]!r}")
            elif json.loads(content)["failures"]:
                errors.append(f"failures: {json.loads(content)['failures']}")
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            errors.append(f"{type(error).__name__}: {error}")
            connection.close()
        took.append(1000 * (time.perf_counter() - start))
        number += 1
    connection.close()


def load(port: int, clients: int, seconds: float, queries: list[str]) -> dict[str, Any]:
    took: list[float] = []
    errors: list[str] = []
    start = time.perf_counter()
    threads = [
        threading.Thread(target=client, args=(port, queries[n:] + queries[:n], start + seconds, took, errors))
        for n in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cuts = statistics.quantiles(took, n=100)
    return {
        "clients": clients,
        "seconds": round(time.perf_counter() - start, 1),
        "requests": len(took),
        "a_second": round(len(took) / (time.perf_counter() - start), 1),
        "errors": len(errors),
        "first_errors": sorted(set(errors))[:5],
        "p50_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "p99_ms": round(cuts[98], 1),
        "worst_ms": round(max(took), 1),
    }


if __name__ == "__main__":
    where, many, long, file = sys.argv[1:]
    print(json.dumps(load(int(where), int(many), float(long), json.loads(Path(file).read_text("utf8")))))
