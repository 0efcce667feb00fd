"""CPU a query of one and of two `watersmeet serve` over the same index in a cluster.

Both halves of the queries are asked of one process and of two in turn, and each process is new, so that no query is
answered twice by the same one. They come at a bounded rate, one after another. Nobody watches the folders: the first
server of a block would look through them.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

from _cluster_cpu import cpu_of, used
from _common import WATERSMEET

WARMING = 20


class Replica:
    """A server process, and a connection to it."""

    def __init__(self, target: str, environment: Mapping[str, str]) -> None:
        argv = [*WATERSMEET, "serve", "--index", target, "--port", "0", "--json", "--no-watch"]
        self._process = subprocess.Popen(argv, env=dict(environment), stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        port = int(json.loads(self._process.stdout.readline())["url"].rstrip("/").rpartition(":")[2])
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    @property
    def cpu(self) -> float:
        return cpu_of(self._process.pid)

    def search(self, query: str) -> int:
        """How many results there are."""
        body = json.dumps({"query": query})
        self._connection.request("POST", "/api/search", body, {"Content-Type": "application/json"})
        answer = json.loads(self._connection.getresponse().read())
        assert not answer.get("failures"), answer["failures"]
        return len(answer["results"])

    def close(self) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait(30)


def one_and_two(
    target: str, environment: Mapping[str, str], warming: Sequence[str], texts: Sequence[str], rate: float
) -> dict[str, Any]:
    half = len(texts) // 2
    blocks = [(1, texts[:half]), (2, texts[half:]), (2, texts[:half]), (1, texts[half:])]
    asked = [(many, _asked(target, environment, many, warming, part, rate)) for many, part in blocks]
    found: dict[str, Any] = {"queries": len(texts), "at_most_a_second": rate}
    for many, name in ((1, "one"), (2, "two")):
        of = [cpu for number, cpu in asked if number == many]
        found[name] = {key: round(1000 * sum(one[key] for one in of) / len(texts), 2) for key in of[0]}
    found["two_to_one"] = round(found["two"]["cpu_ms"] / found["one"]["cpu_ms"], 3)
    return found


def _asked(
    target: str, environment: Mapping[str, str], many: int, warming: Sequence[str], texts: Sequence[str], rate: float
) -> dict[str, float]:
    """CPU seconds of the queries, and the seconds that they took."""
    with ExitStack() as stack:
        replicas = [stack.enter_context(closing(Replica(target, environment))) for _ in range(many)]
        for replica in replicas:
            for text in warming[:WARMING]:
                replica.search(text)
        before, ours = used(), sum(one.cpu for one in replicas)
        for number, text in enumerate(texts):
            start = time.perf_counter()
            assert replicas[number % many].search(text)
            time.sleep(max(0.0, 1 / rate - (time.perf_counter() - start)))
        after = used().since(before)
        ours = sum(one.cpu for one in replicas) - ours
    whole = ours + after.postgres + after.qdrant
    return {
        "cpu_ms": whole,
        "serve_cpu_ms": ours,
        "postgres_cpu_ms": after.postgres,
        "qdrant_cpu_ms": after.qdrant,
        "ms": after.seconds,
    }
